/** The work of list_files and search_files: synchronous, for a thread that can be ended. */
import { closeSync, readlinkSync, statSync } from "node:fs";
import { headOf } from "../../shared/cut.ts";
import { openRegularFileSync, readSyncUpTo } from "../../shared/regular-file.ts";
import { FileGuard, type FileGuardOptions } from "./file-guard.ts";
import { toExpression } from "./search-pattern.ts";
import type { ForbiddenIdentities } from "./forbidden-inodes.ts";
import { shownName } from "./shown-path.ts";
import { decodeText } from "./text-encoding.ts";
import { globMatcher, walk, type WalkedEntry } from "./walk.ts";
import { maxWholeBytes, maxWholeWords } from "./whole-file.ts";

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
const maxLineLength = 300;
const maxLargeFilesTold = 5;
const stoppedEarly = `[stopped after ${maxEntries} entries: give a path further down]`;

export function runSearch(job: SearchJob): string {
  const guard = new FileGuard(job.guard);
  return job.pattern === undefined ? listFiles(guard, job) : new Search(guard, job, toExpression(job.pattern)).run();
}

function listFiles(guard: FileGuard, job: SearchJob): string {
  const lines: string[] = [];
  const matches = globMatcher(job.root, job.glob);
  for (const entry of entriesIn(guard, job.root)) {
    if (entry === undefined) return [...lines, stoppedEarly].join("\n");
    if (!matches(entry.path) || (job.glob !== undefined && entry.kind === "directory")) continue;
    if (lines.length >= job.limit) {
      return [...lines, `[more than ${job.limit}: give a path further down, or a glob]`].join("\n");
    }
    lines.push(shownName(guard, entry.path) + (entry.kind === "directory" ? "/" : ""));
  }
  return lines.length === 0 ? "[no files]" : lines.join("\n");
}

/** `undefined` at the end says that there would be more. */
function* entriesIn(guard: FileGuard, root: string): Generator<WalkedEntry | undefined> {
  let seen = 0;
  for (const entry of walk({ guard, root })) {
    if (++seen > maxEntries) {
      yield undefined;
      return;
    }
    yield entry;
  }
}

class Search {
  readonly #guard: FileGuard;
  readonly #job: SearchJob;
  readonly #expression: RegExp;
  readonly #identities: ForbiddenIdentities;
  readonly #found: string[] = [];
  readonly #tooLarge: string[] = [];
  #isStopped = false;

  constructor(guard: FileGuard, job: SearchJob, expression: RegExp) {
    this.#guard = guard;
    this.#identities = guard.identities();
    this.#job = job;
    this.#expression = expression;
  }

  run(): string {
    const isComplete = this.#searchAll();
    const lines = [...this.#found];
    if (!isComplete) lines.push(`[more than ${this.#job.limit}: narrow the pattern, the path or the glob]`);
    if (lines.length === 0) lines.push("[no matches]");
    if (this.#isStopped) lines.push(stoppedEarly);
    if (this.#tooLarge.length > 0) lines.push(this.#largeWords());
    return lines.join("\n");
  }

  /** `false` when there are more matches than were asked for. */
  #searchAll(): boolean {
    for (const path of this.#files()) {
      const text = this.#read(path);
      if (text !== undefined && !this.#searchText(path, text)) return false;
    }
    return true;
  }

  *#files(): Generator<string> {
    const { root, glob } = this.#job;
    if (statSync(root).isFile()) {
      yield root;
      return;
    }
    const matches = globMatcher(root, glob);
    for (const entry of entriesIn(this.#guard, root)) {
      if (entry === undefined) this.#isStopped = true;
      else if (entry.kind === "file" && matches(entry.path)) yield entry.path;
    }
  }

  #searchText(path: string, text: string): boolean {
    let number = 0;
    for (const line of linesOf(text)) {
      number++;
      const match = this.#expression.exec(line);
      if (match === null) continue;
      if (this.#found.length >= this.#job.limit) return false;
      this.#found.push(`${shownName(this.#guard, path)}:${number}: ${excerpt(line, match.index)}`);
    }
    return true;
  }

  /** `undefined` for what is no text, too large, forbidden under its other name, or cannot be read. */
  #read(path: string): string | undefined {
    try {
      const { descriptor, stats } = openRegularFileSync(path);
      try {
        const opened = { stats, realPath: whereElse(descriptor, path) };
        this.#guard.checkOpened(path, opened, this.#identities);
        if (stats.size <= maxWholeBytes) {
          const text = decodeText(readSyncUpTo(descriptor, Number(stats.size)))?.text;
          return text && this.#guard.masked(text);
        }
        this.#tooLarge.push(shownName(this.#guard, path));
      } finally {
        closeSync(descriptor);
      }
    } catch {
      // Nothing is found in it.
    }
    return undefined;
  }

  #largeWords(): string {
    const told = this.#tooLarge.slice(0, maxLargeFilesTold);
    const more = this.#tooLarge.length - told.length;
    const words = more > 0 ? `${told.join(", ")} and ${more} more` : told.join(", ");
    return `[not searched, since larger than ${maxWholeWords}: ${words}; search them by a command]`;
  }
}

/** `undefined` when it is where it was looked for, or the system does not say. */
function whereElse(descriptor: number, path: string): string | undefined {
  try {
    const found = readlinkSync(`/proc/self/fd/${descriptor}`);
    return found === path ? undefined : found;
  } catch {
    return undefined;
  }
}

/** One after another: a large file has more of them than are worth keeping. */
function* linesOf(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    const next = end < 0 ? text.length : end;
    yield text.slice(start, text[next - 1] === "\r" && next > start ? next - 1 : next);
    start = next + 1;
  }
}

/** The line, or the part of a long one in which the match begins. */
function excerpt(line: string, index: number): string {
  if (line.length <= maxLineLength) return line;
  const start = Math.max(0, index - maxLineLength / 3);
  return `${start > 0 ? "…" : ""}${headOf(line.slice(start), maxLineLength)}…`.toWellFormed();
}
