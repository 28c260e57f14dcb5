/** A Trace file that somebody names: one of ours, one that was handed on, one with several model contexts. */
import type { FileHandle } from "node:fs/promises";
import { basename } from "node:path";
import { isSessionMeta } from "@coxswain/protocol";
import type { RecordedContext } from "../engine/ports.ts";
import { errnoOf, wordsOf } from "../shared/error-words.ts";
import { NotRegularFileError, openRegularFile } from "../shared/regular-file.ts";
import { TraceError } from "./trace-error.ts";
import { parseTraceFileName } from "./trace-files.ts";
import { readContext } from "./trace-reader.ts";

/**
 * Every model context of a file, in order; each begins with its `session_meta`.
 *
 * @throws TraceError when there is no such file, or it holds no message
 */
export async function readTraceFile(path: string): Promise<RecordedContext[]> {
  const { messages, tornTail, skippedLines } = await readContext(path, openNamed);
  if (messages.length === 0) {
    throw new TraceError("unreadable", `${path} holds no message; a Trace has one line of JSON for each`);
  }
  const first = parseTraceFileName(basename(path))?.context ?? 1;
  const contexts: RecordedContext[] = [];
  const begin = (): RecordedContext => {
    const context: RecordedContext = {
      context: first + contexts.length,
      messages: [],
      skippedLines: [],
      gaps: [],
      tornTail: false,
    };
    contexts.push(context);
    return context;
  };
  let current = begin();
  for (const [index, message] of messages.entries()) {
    if (index > 0 && isSessionMeta(message)) current = begin();
    current.messages.push(message);
  }
  placeSkippedLines(contexts, skippedLines);
  const last = contexts.at(-1);
  if (last !== undefined) last.tornTail = tornTail;
  return contexts;
}

function placeSkippedLines(contexts: readonly RecordedContext[], skippedLines: readonly number[]): void {
  let [firstLine, skippedBefore] = [1, 0];
  for (const [position, context] of contexts.entries()) {
    const isLast = position === contexts.length - 1;
    for (const line of skippedLines.slice(skippedBefore)) {
      const gap = line - firstLine - context.skippedLines.length;
      if (gap >= context.messages.length && !isLast) break;
      context.skippedLines.push(line);
      context.gaps.push(Math.min(gap, context.messages.length));
    }
    skippedBefore += context.skippedLines.length;
    firstLine += context.messages.length + context.skippedLines.length;
  }
}

async function openNamed(path: string): Promise<FileHandle> {
  try {
    return (await openRegularFile(path, { followLink: true })).handle;
  } catch (error) {
    const code = errnoOf(error);
    if (code === "ENOENT") throw new TraceError("unreadable", `there is no file ${path}`);
    if (error instanceof NotRegularFileError) throw new TraceError("unreadable", `${path} is no regular file`);
    throw new TraceError("unreadable", `${path} cannot be read (${code ?? wordsOf(error)})`, { cause: error });
  }
}
