/** Literal replacement that does not mind whether a line ends in LF or CR LF. */

export type Replacement =
  | { status: "replaced"; text: string; count: number }
  | { status: "not found" }
  | { status: "not unique"; count: number; lines: number[] }
  | { status: "too large" };

interface Span {
  start: number;
  end: number;
}

export interface TextEdit {
  /** What is replaced and by what, literally; a bare LF in either stands for the line end of the file at that place. */
  old: string;
  new: string;
  all: boolean;
}

const maxSpans = 200_000;
const maxTextLength = 32 * 1024 * 1024;
const maxLinesTold = 20;

export function replaceText(text: string, edit: TextEdit): Replacement {
  const spans = findSpans(text, edit.old);
  if (spans.length === 0) return { status: "not found" };
  if (spans.length > maxSpans) return { status: "too large" };
  if (spans.length > 1 && !edit.all) {
    return { status: "not unique", count: spans.length, lines: lineNumbers(text, spans.slice(0, maxLinesTold)) };
  }
  if (text.length + spans.length * (edit.new.length - edit.old.length) > maxTextLength) return { status: "too large" };
  const newlines = edit.new.includes("\n") && text.includes("\r\n") ? indicesOf("\n", text) : undefined;
  // Where only the model's own words have CR LF, both of them mean the LF of the file.
  const replacement =
    !text.includes("\r\n") && edit.old.includes("\r\n") ? edit.new.replaceAll("\r\n", "\n") : edit.new;
  const parts: string[] = [];
  let position = 0;
  for (const span of spans) {
    const written = newlines === undefined ? replacement : withLineEnds(replacement, lineEndsAt(text, newlines, span));
    parts.push(text.slice(position, span.start), written);
    position = span.end;
  }
  parts.push(text.slice(position));
  return { status: "replaced", text: parts.join(""), count: spans.length };
}

/** Where `old` stands, not overlapping; found also where only line ends differ. */
function findSpans(text: string, old: string): Span[] {
  if (!text.includes("\r\n")) return findLiteral(text, old.replaceAll("\r\n", "\n"), (index) => index);
  const removed: number[] = [];
  for (let index = text.indexOf("\r\n"); index >= 0; index = text.indexOf("\r\n", index + 2)) {
    removed.push(index - removed.length);
  }
  // In the text without them, every index stands behind as many carriage returns as were removed before it.
  const original = (index: number): number => index + countBelow(removed, index);
  return findLiteral(text.replaceAll("\r\n", "\n"), old.replaceAll("\r\n", "\n"), original);
}

/** One more than the most that is replaced says that there are more. */
function findLiteral(text: string, old: string, original: (index: number) => number): Span[] {
  const spans: Span[] = [];
  for (let index = text.indexOf(old); index >= 0; index = text.indexOf(old, index + old.length)) {
    spans.push({ start: original(index), end: original(index + old.length) });
    if (spans.length > maxSpans) break;
  }
  return spans;
}

/** 1-based. */
function lineNumbers(text: string, spans: readonly Span[]): number[] {
  const numbers: number[] = [];
  let line = 1;
  let next = text.indexOf("\n");
  for (const { start } of spans) {
    for (; next >= 0 && next < start; next = text.indexOf("\n", next + 1)) line++;
    numbers.push(line);
  }
  return numbers;
}

/** How many of the sorted numbers are smaller. */
function countBelow(sorted: readonly number[], limit: number): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] ?? 0) < limit) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The line ends within the span, in order; if there are none, the one that is nearest. */
function lineEndsAt(text: string, newlines: readonly number[], span: Span): string[] {
  const inside = text.slice(span.start, span.end).match(/\r?\n/g);
  if (inside !== null) return inside;
  const index = newlines[countBelow(newlines, span.end)] ?? newlines.at(-1) ?? 0;
  return [text[index - 1] === "\r" ? "\r\n" : "\n"];
}

function indicesOf(wanted: string, text: string): number[] {
  const indices: number[] = [];
  for (let index = text.indexOf(wanted); index >= 0; index = text.indexOf(wanted, index + 1)) indices.push(index);
  return indices;
}

/** Bare line feeds become the given line ends; the last one serves for all that follow. */
function withLineEnds(text: string, ends: readonly string[]): string {
  let count = 0;
  return text.replace(/\r?\n/g, (written) => {
    const end = ends[Math.min(count++, ends.length - 1)] ?? "\n";
    return written === "\n" ? end : written;
  });
}
