/** Cuts that never leave half a surrogate pair. Lengths are UTF-16 units. */

function splitsPair(text: string, index: number): boolean {
  if (index <= 0 || index >= text.length) return false;
  return (text.charCodeAt(index - 1) & 0xfc00) === 0xd800 && (text.charCodeAt(index) & 0xfc00) === 0xdc00;
}

/** At most `length` units from the front. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = Math.max(0, length);
  return text.slice(0, splitsPair(text, end) ? end - 1 : end);
}

/** At most `length` units from the end. */
export function tailOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const start = text.length - Math.max(0, length);
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

/** The text, or its beginning and an ellipsis: at most `length` units, of which there must be one. */
export function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${headOf(text, length - 1)}…`;
}
