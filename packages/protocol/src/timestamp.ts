let lastMs = Number.NaN;
let lastText = "";

/** Milliseconds since the epoch as ISO 8601. Streams stamp many messages in one millisecond, so the last text is kept. */
export function isoTimestamp(ms: number): string {
  if (ms !== lastMs) {
    lastText = new Date(ms).toISOString();
    lastMs = ms;
  }
  return lastText;
}
