/** Text that others wrote may hold half a surrogate pair, which no UTF-8 body can carry. */

const anySurrogate = /[\ud800-\udfff]/;
/** With the `u` flag a pair is one character, so that only unpaired halves match. */
const unpairedSurrogate = /\p{Surrogate}/gu;

/** Unpaired surrogates become U+FFFD, one for one: the length stays. */
export function wellFormed(text: string): string {
  return anySurrogate.test(text) ? text.replace(unpairedSurrogate, "\ufffd") : text;
}

/** The same for every string, key or value, inside a JSON value. */
export function deepWellFormed(value: unknown): unknown {
  if (typeof value === "string") return wellFormed(value);
  if (Array.isArray(value)) return value.map(deepWellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [wellFormed(key), deepWellFormed(inner)]));
}

export function endsInHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
