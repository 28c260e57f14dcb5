/** A unified diff for a person and for the model: bounded, and right even where it is not the shortest. */
import type { StructuredPatchHunk } from "diff";
import { headOf } from "../../shared/cut.ts";

/** The search for the shortest is made in one go, during which nothing else happens. */
const timeoutMs = 25;
const maxEditLength = 2000;
const maxComparedLines = 20_000;
const contextLines = 3;
const maxLineLength = 1000;
const maxDiffLength = 48 * 1024;

export interface FileDiffOptions {
  /** What names the file, in one line. */
  path: string;
  before: string;
  after: string;
  /** What a line passes before it is cut. */
  masked: (text: string) => string;
}

/** The library is loaded when the first diff is made. */
export async function fileDiff({ path, before, after, masked }: FileDiffOptions): Promise<string> {
  if (before === after) return "[nothing changes]\n";
  const ends = { before: lineEndsOf(before), after: lineEndsOf(after) };
  const endsWords =
    ends.before === ends.after || ends.before === "no" || ends.after === "no"
      ? ""
      : `[${ends.before} line ends become ${ends.after} line ends]\n`;
  const old = linesOf(before.replaceAll("\r\n", "\n"));
  const now = linesOf(after.replaceAll("\r\n", "\n"));
  const same = sameEnds(old, now);
  if (same.head === old.length && same.head === now.length) return endsWords || "[some line ends change]\n";
  const { formatPatch, OMIT_HEADERS } = await import("diff");
  const hunks = (await shortestHunks(old, now, same)) ?? [wholeHunk(old, now, same)];
  const unnamed = { oldFileName: "", newFileName: "", oldHeader: undefined, newHeader: undefined };
  // The library would write a name that is not English in octal numbers.
  const head = `--- ${path}\n+++ ${path}\n`;
  return endsWords + head + bounded(formatPatch({ ...unnamed, hunks }, OMIT_HEADERS), masked);
}

/** How many lines at the beginning and at the end are the same. */
interface SameEnds {
  head: number;
  tail: number;
}

function sameEnds(old: readonly string[], now: readonly string[]): SameEnds {
  const most = Math.min(old.length, now.length);
  let head = 0;
  while (head < most && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < most - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  return { head, tail };
}

/** `undefined` when it takes too long to find. Only what differs, and the lines around it, is looked at. */
async function shortestHunks(
  old: readonly string[],
  now: readonly string[],
  same: SameEnds,
): Promise<StructuredPatchHunk[] | undefined> {
  const start = Math.max(0, same.head - contextLines);
  const rest = Math.max(0, same.tail - contextLines);
  const before = old.slice(start, old.length - rest);
  const after = now.slice(start, now.length - rest);
  if (before.length + after.length > maxComparedLines) return undefined;
  const { structuredPatch } = await import("diff");
  const options = { context: contextLines, timeout: timeoutMs, maxEditLength };
  const patch = structuredPatch("", "", before.join(""), after.join(""), undefined, undefined, options);
  return patch?.hunks.map((hunk) => ({
    ...hunk,
    oldStart: hunk.oldStart + start,
    newStart: hunk.newStart + start,
  }));
}

/** All that differs, first as it was and then as it will be. */
function wholeHunk(old: readonly string[], now: readonly string[], { head, tail }: SameEnds): StructuredPatchHunk {
  const start = Math.max(0, head - contextLines);
  const rest = Math.max(0, tail - contextLines);
  const lines = [
    ...marked(" ", old.slice(start, head)),
    ...marked("-", old.slice(head, old.length - tail)),
    ...marked("+", now.slice(head, now.length - tail)),
    ...marked(" ", old.slice(old.length - tail, old.length - rest)),
  ];
  const oldLines = old.length - rest - start;
  const newLines = now.length - rest - start;
  return { oldStart: start + 1, oldLines, newStart: start + 1, newLines, lines };
}

function marked(mark: string, lines: readonly string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith("\n") ? mark + line.slice(0, -1) : [mark + line, "\\ No newline at end of file"],
  );
}

/** With the line feed that ends each. */
function linesOf(text: string): string[] {
  const lines = text.split("\n").map((line) => `${line}\n`);
  const last = lines.pop();
  return last === undefined || last === "\n" ? lines : [...lines, last.slice(0, -1)];
}

function lineEndsOf(text: string): string {
  const hasCrLf = text.includes("\r\n");
  const hasLf = /(?<!\r)\n/.test(text);
  if (hasCrLf && hasLf) return "mixed";
  return hasCrLf ? "CR LF" : hasLf ? "LF" : "no";
}

function bounded(patch: string, masked: (text: string) => string): string {
  const lines = patch.split("\n");
  const shown: string[] = [];
  let length = 0;
  for (const [index, line] of lines.entries()) {
    const cut =
      line.length > maxLineLength ? `${headOf(masked(line), maxLineLength)}[… ${line.length} characters]` : line;
    length += cut.length + 1;
    if (length > maxDiffLength) return `${shown.join("\n")}\n[… ${lines.length - index} more lines of the diff]\n`;
    shown.push(cut);
  }
  return shown.join("\n");
}
