/** Literal replacement that does not mind whether a line ends in LF or CR LF. */

export type Replacement =
  | { ok: true; text: string; count: number }
  | { ok: false; reason: "not found" | "not unique"; count: number };

interface Span {
  start: number;
  end: number;
}

/** @param edit What is replaced and by what, literally; a bare LF in either stands for the line end of the file at that place. */
export function replaceText(text: string, edit: { old: string; new: string; all: boolean }): Replacement {
  const spans = findSpans(text, edit.old);
  if (spans.length === 0) return { ok: false, reason: "not found", count: 0 };
  if (spans.length > 1 && !edit.all) return { ok: false, reason: "not unique", count: spans.length };
  const parts: string[] = [];
  let position = 0;
  for (const span of spans) {
    parts.push(text.slice(position, span.start), withLineEnds(edit.new, lineEndsAt(text, span)));
    position = span.end;
  }
  parts.push(text.slice(position));
  return { ok: true, text: parts.join(""), count: spans.length };
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

function findLiteral(text: string, old: string, original: (index: number) => number): Span[] {
  const spans: Span[] = [];
  for (let index = text.indexOf(old); index >= 0; index = text.indexOf(old, index + old.length)) {
    spans.push({ start: original(index), end: original(index + old.length) });
  }
  return spans;
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
function lineEndsAt(text: string, span: Span): string[] {
  const inside = text.slice(span.start, span.end).match(/\r?\n/g);
  if (inside !== null) return inside;
  const after = text.indexOf("\n", span.end);
  const index = after >= 0 ? after : text.lastIndexOf("\n", span.start);
  return [index > 0 && text[index - 1] === "\r" ? "\r\n" : "\n"];
}

/** Bare line feeds become the given line ends; the last one serves for all that follow. */
function withLineEnds(text: string, ends: readonly string[]): string {
  let count = 0;
  return text.replace(/\r?\n/g, (written) => {
    const end = ends[Math.min(count++, ends.length - 1)] ?? "\n";
    return written === "\n" ? end : written;
  });
}
