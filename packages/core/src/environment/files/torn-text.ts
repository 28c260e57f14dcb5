/** Texts that must stay whole or go whole. */
import type { Span } from "./replace-text.ts";

/**
 * A span holds a part of one of the wanted texts, but not all of it.
 *
 * @param spans In order, none overlapping another.
 */
export function tearsAny(text: string, spans: readonly Span[], wanted: readonly string[]): boolean {
  return wanted.some((one) => tears(text, spans, one));
}

function tears(text: string, spans: readonly Span[], wanted: string): boolean {
  let index = 0;
  // Where it overlaps itself, each place counts.
  for (let start = text.indexOf(wanted); start >= 0; start = text.indexOf(wanted, start + 1)) {
    while ((spans[index]?.end ?? Number.POSITIVE_INFINITY) <= start) index++;
    const span = spans[index];
    if (span === undefined) return false;
    const end = start + wanted.length;
    // Of a span that holds it whole, no other holds a part.
    if (span.start < end && (span.start > start || span.end < end)) return true;
  }
  return false;
}
