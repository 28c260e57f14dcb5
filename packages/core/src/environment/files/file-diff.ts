/** A unified diff for a person and for the model: bounded, and right even where it is not the shortest. */
import { headOf } from "../../shared/cut.ts";
import { loadDiff } from "../late-libraries.ts";
import { lineEndsOf, withLineFeeds } from "./line-ends.ts";

/** The search for the shortest is made in one go, during which nothing else happens. */
const timeoutMs = 25;
const maxEditLength = 2000;
const maxComparedLines = 20_000;
const contextLines = 3;
/** Units of two texts. A power of 2, since it is halved until they are found to differ. */
const comparedAtOnce = 64 * 1024;
const maxLineLength = 1000;
const lineFeed = 0x0a;
const maxDiffLength = 48 * 1024;

export interface FileDiffOptions {
  /** What names the file, in one line. */
  path: string;
  before: string;
  after: string;
  /** What a line passes before it is cut. */
  masked: (text: string) => string;
}

export async function fileDiff({ path, before, after, masked }: FileDiffOptions): Promise<string> {
  if (before === after) return "[nothing changes]\n";
  const ends = { before: lineEndsOf(before), after: lineEndsOf(after) };
  const endsWords =
    ends.before === ends.after || ends.before === "no" || ends.after === "no"
      ? ""
      : `[${ends.before} line ends become ${ends.after} line ends]\n`;
  // Where all line ends are of one kind, what is the same need not be looked at more closely.
  const isPlain = ends.before === ends.after && ends.before !== "mixed";
  const old = isPlain ? before : withLineFeeds(before);
  const now = isPlain ? after : withLineFeeds(after);
  if (old === now) return endsWords || "[some line ends change]\n";
  const part = differingPart(old, now);
  // The library would write a name that is not English in octal numbers.
  const head = `--- ${path}\n+++ ${path}\n`;
  return endsWords + head + bounded((await shortestLines(part)) ?? wholeLines(part), masked);
}

/** What differs, in whole lines, with a few lines around it that do not. */
interface DifferingPart {
  /** How many lines stand before it. */
  skipped: number;
  leading: readonly string[];
  old: string;
  now: string;
  trailing: readonly string[];
}

function differingPart(old: string, now: string): DifferingPart {
  const head = lineStart(old, sameHead(old, now));
  let tail = sameTail(old.slice(head), now.slice(head));
  // Of the lines that differ nothing may be left out at the end either.
  if (!startsLine(old, old.length - tail, head) || !startsLine(now, now.length - tail, head)) {
    const nextLine = old.indexOf("\n", old.length - tail);
    tail = nextLine < 0 ? 0 : old.length - nextLine - 1;
  }
  let start = head;
  for (let left = contextLines; left > 0 && start > 0; left--) start = lineStart(old, start - 1);
  const leading = [...eachLine(old.slice(start, head))];
  return {
    skipped: lineCount(old.slice(0, start)),
    leading,
    old: old.slice(head, old.length - tail),
    now: now.slice(head, now.length - tail),
    trailing: firstLines(old.slice(old.length - tail), contextLines),
  };
}

function startsLine(text: string, index: number, first: number): boolean {
  return index === first || text[index - 1] === "\n";
}

/** Where the line begins in which the index is. */
function lineStart(text: string, index: number): number {
  return index === 0 ? 0 : text.lastIndexOf("\n", index - 1) + 1;
}

/** How many units at the beginning are the same. The engine compares much at once faster than one after another. */
function sameHead(old: string, now: string): number {
  const most = Math.min(old.length, now.length);
  let same = 0;
  for (let step = comparedAtOnce; step >= 1; step = Math.floor(step / 2)) {
    while (same + step <= most && old.slice(same, same + step) === now.slice(same, same + step)) same += step;
  }
  return same;
}

function sameTail(old: string, now: string): number {
  const most = Math.min(old.length, now.length);
  const end = (text: string, from: number, to: number): string => text.slice(text.length - to, text.length - from);
  let same = 0;
  for (let step = comparedAtOnce; step >= 1; step = Math.floor(step / 2)) {
    while (same + step <= most && end(old, same, same + step) === end(now, same, same + step)) same += step;
  }
  return same;
}

/** `undefined` when it takes too long to find, or what finds it cannot be loaded. */
async function shortestLines({ skipped, leading, old, now, trailing }: DifferingPart): Promise<Patch | undefined> {
  if (lineCount(old) + lineCount(now) > maxComparedLines) return undefined;
  const library = await loadDiff().catch(() => undefined);
  if (library === undefined) return undefined;
  const { formatPatch, structuredPatch, OMIT_HEADERS } = library;
  const around = (text: string): string => withLineFeeds([...leading, text, ...trailing].join(""));
  const options = { context: contextLines, timeout: timeoutMs, maxEditLength };
  const patch = structuredPatch("", "", around(old), around(now), undefined, undefined, options);
  if (patch === undefined) return undefined;
  const hunks = patch.hunks.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + skipped,
    newStart: hunk.newStart + skipped,
  }));
  const lines = formatPatch({ ...patch, hunks }, OMIT_HEADERS)
    .split("\n")
    .slice(0, -1);
  return { lines, count: lines.length };
}

interface Patch {
  lines: Iterable<string>;
  count: number;
}

/** All that differs, first as it was and then as it will be. */
function wholeLines({ skipped, leading, old, now, trailing }: DifferingPart): Patch {
  const around = leading.length + trailing.length;
  const counts = { old: lineCount(old), now: lineCount(now) };
  const place = (count: number): string => `${skipped + (around + count === 0 ? 0 : 1)},${around + count}`;
  const lines = function* (): Generator<string> {
    yield `@@ -${place(counts.old)} +${place(counts.now)} @@`;
    yield* marked(" ", leading);
    yield* marked("-", eachLine(old));
    yield* marked("+", eachLine(now));
    yield* marked(" ", trailing);
  };
  const unended = [old, now, trailing.at(-1) ?? ""].filter((text) => text !== "" && !text.endsWith("\n")).length;
  return { lines: lines(), count: 1 + around + counts.old + counts.now + unended };
}

function* marked(mark: string, lines: Iterable<string>): Generator<string> {
  for (const line of lines) {
    yield mark + line.replace(/\r?\n$/, "");
    if (!line.endsWith("\n")) yield "\\ No newline at end of file";
  }
}

/** With the line feed that ends each. */
function* eachLine(text: string): Generator<string> {
  for (let start = 0; start < text.length; ) {
    const end = text.indexOf("\n", start);
    const next = end < 0 ? text.length : end + 1;
    yield text.slice(start, next);
    start = next;
  }
}

function firstLines(text: string, count: number): string[] {
  const lines: string[] = [];
  for (const line of eachLine(text)) {
    if (lines.length === count) break;
    lines.push(line);
  }
  return lines;
}

function lineCount(text: string): number {
  let count = text === "" || text.endsWith("\n") ? 0 : 1;
  for (let index = 0; index < text.length; index++) if (text.charCodeAt(index) === lineFeed) count++;
  return count;
}

function bounded({ lines, count }: Patch, masked: (text: string) => string): string {
  const shown: string[] = [];
  let length = 0;
  for (const line of lines) {
    const cut =
      line.length > maxLineLength ? `${headOf(masked(line), maxLineLength)}[… ${line.length} characters]` : line;
    length += cut.length + 1;
    if (length > maxDiffLength) return `${shown.join("\n")}\n[… ${count - shown.length} more lines of the diff]\n`;
    shown.push(cut);
  }
  return `${shown.join("\n")}\n`;
}
