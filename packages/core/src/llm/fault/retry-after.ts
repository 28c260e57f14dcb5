/** How long a provider asks to be left alone. */

/**
 * Milliseconds, from `retry-after-ms` or `retry-after` (seconds, or an HTTP date); `undefined` when there is none that
 * can be used.
 * @param headers Names in lower case.
 */
export function readRetryAfterMs(headers: Record<string, string>, nowMs: number): number | undefined {
  return plainNumber(headers["retry-after-ms"], 1) ?? readRetryAfter(headers["retry-after"], nowMs);
}

function readRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const fromSeconds = plainNumber(value, 1000);
  if (fromSeconds !== undefined || value === undefined) return fromSeconds;
  // A date names its month; this keeps `Date.parse` from guessing one out of a stray number.
  if (!/[a-z]{3}/i.test(value)) return undefined;
  const waitMs = Date.parse(value) - nowMs;
  return waitMs >= 0 ? waitMs : undefined;
}

function plainNumber(value: string | undefined, unitMs: number): number | undefined {
  const text = value?.trim() ?? "";
  if (!/^\d+(\.\d+)?$/.test(text)) return undefined;
  const waitMs = Math.ceil(Number(text) * unitMs);
  return Number.isSafeInteger(waitMs) ? waitMs : undefined;
}
