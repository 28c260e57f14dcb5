/** Line ends of texts that may have millions of them. */

const lineFeed = 0x0a;
const carriageReturn = 0x0d;

type LineEnds = "no" | "LF" | "CR LF" | "mixed";

export function lineEndsOf(text: string): LineEnds {
  const hasCrLf = text.includes("\r\n");
  const hasLf = hasBareLineFeed(text);
  if (hasCrLf && hasLf) return "mixed";
  return hasCrLf ? "CR LF" : hasLf ? "LF" : "no";
}

function hasBareLineFeed(text: string): boolean {
  for (let index = 0; index < text.length; index++) {
    if (text.charCodeAt(index) === lineFeed && text.charCodeAt(index - 1) !== carriageReturn) return true;
  }
  return false;
}

export function withLineFeeds(text: string): string {
  if (!text.includes("\r\n")) return text;
  return rewritten(text, (unit, next) => (unit === carriageReturn && next === lineFeed ? 0 : 1));
}

/** @param text Without carriage returns. */
export function withCrLf(text: string): string {
  return rewritten(text, (unit) => (unit === lineFeed ? 2 : 1));
}

/**
 * Unit by unit: a replacement takes ten times as long.
 *
 * @param copies 0 leaves the unit out, 2 puts a carriage return in front of it.
 */
function rewritten(text: string, copies: (unit: number, next: number) => 0 | 1 | 2): string {
  const units = Buffer.allocUnsafe(4 * text.length);
  let end = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    const count = copies(unit, text.charCodeAt(index + 1));
    if (count === 0) continue;
    if (count === 2) {
      units[end++] = carriageReturn;
      units[end++] = 0;
    }
    units[end++] = unit & 0xff;
    units[end++] = unit >> 8;
  }
  return units.toString("utf16le", 0, end);
}
