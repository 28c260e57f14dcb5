/** What a list of Sessions shows, from the heads and tails of their files. */
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { type OmniMessage, isPayload, isSessionMeta } from "@coxswain/protocol";
import { shortened } from "../shared/cut.ts";
import type { SessionSummary } from "../engine/ports.ts";
import { type ContextFile, dateFolders, namesIn, parseTraceFileName } from "./trace-files.ts";
import { findFromEnd, findFromStart } from "./trace-reader.ts";

/** A head holds the system prompt; a tail at least one record. */
const maxHeadBytes = 4 * 1024 * 1024;
const maxTailBytes = 1024 * 1024;
const titleLength = 80;
/** Sessions whose files are read at the same time. */
const parallelReads = 16;

interface SessionFiles {
  sessionId: string;
  first: ContextFile;
  last: ContextFile;
  /** Milliseconds: when the last file was written to. */
  changedMs: number;
}

/** The Session that was active last comes first. Files that cannot be read are left out. */
export async function* listSessions(tracesDir: string): AsyncGenerator<SessionSummary, void> {
  const sessions = await sessionsByActivity(tracesDir);
  for (let start = 0; start < sessions.length; start += parallelReads) {
    const some = sessions.slice(start, start + parallelReads);
    for (const summary of await Promise.all(some.map(summarize))) if (summary !== undefined) yield summary;
  }
}

async function sessionsByActivity(tracesDir: string): Promise<SessionFiles[]> {
  const sessions = new Map<string, SessionFiles>();
  for (const folder of await dateFolders(tracesDir)) {
    for (const name of await namesIn(join(tracesDir, folder))) {
      const parsed = parseTraceFileName(name);
      if (parsed === undefined) continue;
      const { sessionId, context } = parsed;
      const file = { context, path: join(tracesDir, folder, name) };
      const known = sessions.get(sessionId);
      if (known === undefined) sessions.set(sessionId, { sessionId, first: file, last: file, changedMs: 0 });
      else if (context < known.first.context) known.first = file;
      else if (context > known.last.context) known.last = file;
    }
  }
  const all = [...sessions.values()];
  await Promise.all(
    all.map(async (session) => {
      session.changedMs = await stat(session.last.path).then(
        (stats) => stats.mtimeMs,
        () => 0,
      );
    }),
  );
  return all.sort((a, b) => b.changedMs - a.changedMs || (a.sessionId < b.sessionId ? 1 : -1));
}

async function summarize(session: SessionFiles): Promise<SessionSummary | undefined> {
  try {
    const head = await findFromStart(session.first.path, maxHeadBytes, readHead);
    if (head === undefined || head === "none") return undefined;
    const newest = await findFromEnd(session.last.path, maxTailBytes, (messages) => messages.at(-1)?.timestamp);
    return { sessionId: session.sessionId, ...head, lastActiveAt: newest ?? head.startedAt };
  } catch {
    // Removed meanwhile, or not ours to read.
    return undefined;
  }
}

/** `undefined` when more has to be read; `none` when more would not help, since a context begins with its meta. */
function readHead(messages: OmniMessage[]): Omit<SessionSummary, "sessionId" | "lastActiveAt"> | "none" | undefined {
  const meta = messages.find(isSessionMeta);
  if (meta === undefined) return messages.length === 0 ? undefined : "none";
  const { provider, model_id: modelId, workspace } = meta.payload;
  const title = titleIn(messages);
  const summary = { provider, modelId, workspace, startedAt: meta.timestamp };
  return title === undefined ? summary : { title, ...summary };
}

/** The beginning of the first thing that a person said, if the head holds it. */
function titleIn(messages: OmniMessage[]): string | undefined {
  for (const message of messages) {
    if (!isPayload(message, "text") || message.payload.role !== "user") continue;
    const { sender } = message.payload;
    if (sender !== undefined && sender !== "user") continue;
    const words = message.payload.text.replace(/\s+/g, " ").trim();
    if (words !== "") return shortened(words, titleLength);
  }
  return undefined;
}
