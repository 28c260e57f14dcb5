/** Literal replacement that does not mind whether a line ends in LF or CR LF. */
import { lineEndsOf, withLineFeeds } from "./line-ends.ts";

export type Replacement =
  | { status: "replaced"; text: string; count: number; spans: readonly Span[] }
  | { status: "not found" }
  | { status: "not unique"; count: number; lines: number[] }
  | { status: "too large" };

/** What is replaced of the text; of several none overlaps another, and they are in order. */
export interface Span {
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
  const written = replacementIn(text, edit);
  const parts: string[] = [];
  let position = 0;
  for (const span of spans) {
    parts.push(text.slice(position, span.start), written(span));
    position = span.end;
  }
  parts.push(text.slice(position));
  return { status: "replaced", text: parts.join(""), count: spans.length, spans };
}

/** What is written in the place of a span; spans are asked for in their order. */
function replacementIn(text: string, edit: TextEdit): (span: Span) => string {
  const ends = lineEndsOf(text);
  if (ends === "mixed" && edit.new.includes("\n")) {
    const nearest = nearestLineEnds(text);
    return (span) => withLineEnds(edit.new, lineEndsAt(text, span, nearest));
  }
  if (ends === "mixed") return () => edit.new;
  // Where only the model's own words have CR LF, both of them mean the LF of the file.
  const meansLf = ends !== "CR LF" && edit.old.includes("\r\n");
  const written = ends === "CR LF" ? withLineEnds(edit.new, ["\r\n"]) : meansLf ? withLineFeeds(edit.new) : edit.new;
  return () => written;
}

/** Where `old` stands, not overlapping; found also where only line ends differ. */
function findSpans(text: string, old: string): Span[] {
  const wanted = withLineFeeds(old);
  if (!text.includes("\r\n")) return findLiteral(text, wanted, (index) => index);
  return findLiteral(withLineFeeds(text), wanted, originalIndices(text));
}

/** Of indices in the text without carriage returns, none smaller than the one before: where they are in the text. */
function originalIndices(text: string): (index: number) => number {
  let removed = 0;
  let next = text.indexOf("\r\n");
  return (index) => {
    for (; next >= 0 && next - removed < index; next = text.indexOf("\r\n", next + 2)) removed++;
    return index + removed;
  };
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

/** The line ends within the span, in order; if there are none, the one that is nearest. */
function lineEndsAt(text: string, span: Span, nearest: (index: number) => string): string[] {
  return text.slice(span.start, span.end).match(/\r?\n/g) ?? [nearest(span.end)];
}

/** For indices of which none is smaller than the one before: the line end that follows, or else the last. */
function nearestLineEnds(text: string): (index: number) => string {
  const last = text.lastIndexOf("\n");
  let next = text.indexOf("\n");
  return (index) => {
    if (next < index) next = index > last ? last : text.indexOf("\n", index);
    return text[next - 1] === "\r" ? "\r\n" : "\n";
  };
}

/** Bare line feeds become the given line ends; the last one serves for all that follow. */
function withLineEnds(text: string, ends: readonly string[]): string {
  let count = 0;
  return text.replace(/\r?\n/g, (written) => {
    const end = ends[Math.min(count++, ends.length - 1)] ?? "\n";
    return written === "\n" ? end : written;
  });
}
