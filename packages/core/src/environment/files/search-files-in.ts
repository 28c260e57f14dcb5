/** The work of list_files and search_files: synchronous, for a thread that can be ended. */
import { type BigIntStats, statSync } from "node:fs";
import { relative } from "node:path";
import { headOf } from "../../shared/cut.ts";
import { readRegularFileSync } from "../../shared/regular-file.ts";
import { FileGuard, type FileGuardOptions } from "./file-guard.ts";
import { toExpression } from "./search-pattern.ts";
import { decodeText } from "./text-encoding.ts";
import { globMatcher, walk } from "./walk.ts";

export interface SearchJob {
  guard: FileGuardOptions;
  /** Real path of what is listed or searched: a directory, or a file to search. */
  root: string;
  glob?: string | undefined;
  /** A regular expression; without it files are listed. */
  pattern?: string | undefined;
  /** Results at most. */
  limit: number;
}

const maxEntries = 200_000;
const maxSearchedBytes = 8 * 1024 * 1024;
const maxLineLength = 300;

export function runSearch(job: SearchJob): string {
  const guard = new FileGuard(job.guard);
  return job.pattern === undefined ? listFiles(guard, job) : searchFiles(guard, job, toExpression(job.pattern));
}

function listFiles(guard: FileGuard, job: SearchJob): string {
  const matches = globMatcher(job.root, job.glob);
  const lines: string[] = [];
  let seen = 0;
  for (const entry of walk({ guard, root: job.root })) {
    if (++seen > maxEntries)
      return [...lines, `[stopped after ${maxEntries} entries: give a path further down]`].join("\n");
    if (!matches(entry.path) || (job.glob !== undefined && entry.kind === "directory")) continue;
    if (lines.length >= job.limit) {
      return [...lines, `[more than ${job.limit}: give a path further down, or a glob]`].join("\n");
    }
    lines.push(shownName(guard, entry.path) + (entry.kind === "directory" ? "/" : ""));
  }
  return lines.length === 0 ? "[no files]" : lines.join("\n");
}

function searchFiles(guard: FileGuard, job: SearchJob, expression: RegExp): string {
  const found: string[] = [];
  for (const path of filesToSearch(guard, job)) {
    const text = readText(guard, path);
    if (text === undefined) continue;
    for (const [index, line] of text.split("\n").entries()) {
      const match = expression.exec(line);
      if (match === null) continue;
      if (found.length >= job.limit)
        return [...found, `[more than ${job.limit}: narrow the pattern, the path or the glob]`].join("\n");
      found.push(`${shownName(guard, path)}:${index + 1}: ${excerpt(line, match.index)}`);
    }
  }
  return found.length === 0 ? "[no matches]" : found.join("\n");
}

function* filesToSearch(guard: FileGuard, job: SearchJob): Generator<string> {
  if (statSync(job.root).isFile()) {
    yield job.root;
    return;
  }
  const matches = globMatcher(job.root, job.glob);
  let seen = 0;
  for (const entry of walk({ guard, root: job.root })) {
    if (++seen > maxEntries) return;
    if (entry.kind === "file" && matches(entry.path)) yield entry.path;
  }
}

/** `undefined` for what is no text, too large, forbidden under its other name, or cannot be read. */
function readText(guard: FileGuard, path: string): string | undefined {
  try {
    const check = (stats: BigIntStats): void => guard.checkOpened(path, { stats, realPath: undefined });
    return decodeText(readRegularFileSync(path, { maxBytes: maxSearchedBytes, check }))?.text;
  } catch {
    return undefined;
  }
}

function shownName(guard: FileGuard, path: string): string {
  const inside = relative(guard.workspaceDir, path);
  return inside === "" || inside.startsWith("..") ? path : inside;
}

/** The line, or the part of a long one in which the match begins. */
function excerpt(line: string, index: number): string {
  const whole = line.endsWith("\r") ? line.slice(0, -1) : line;
  if (whole.length <= maxLineLength) return whole;
  const start = Math.max(0, index - maxLineLength / 3);
  return `${start > 0 ? "…" : ""}${headOf(whole.slice(start), maxLineLength)}…`.toWellFormed();
}
