/** Text that others wrote may hold half a surrogate pair, which no UTF-8 body can carry. */

/** Unpaired surrogates become U+FFFD in every string, key or value, inside a JSON value. */
export function deepWellFormed(value: unknown): unknown {
  if (typeof value === "string") return value.toWellFormed();
  if (Array.isArray(value)) return value.map(deepWellFormed);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key.toWellFormed(), deepWellFormed(inner)]));
}

export function endsInHighSurrogate(text: string): boolean {
  const last = text.charCodeAt(text.length - 1);
  return last >= 0xd800 && last <= 0xdbff;
}
