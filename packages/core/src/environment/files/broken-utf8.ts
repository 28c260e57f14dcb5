/** UTF-8 with some bytes that are none: they become lone surrogates, which valid UTF-8 never gives, and bytes again. */

const firstStandIn = 0xdc80;
/** For half a character that stands for no byte. */
const replacement = 0xfffd;

/** More characters of several bytes than bytes that are none. */
export function isMostlyUtf8(bytes: Buffer): boolean {
  let lead = 0;
  // Two bytes are the least that such a character has: what is left may not be enough.
  for (let index = 0; index < bytes.length && lead + (bytes.length - index) / 2 > 0; ) {
    const length = sequenceLength(bytes, index);
    if (length !== 1) lead += length === 0 ? -1 : 1;
    index += length === 0 ? 1 : length;
  }
  return lead > 0;
}

/** Unit by unit: half of the bytes may be none, and a text for each of them would take seconds. */
export function textFromBrokenUtf8(bytes: Buffer): string {
  const units = Buffer.allocUnsafe(2 * bytes.length);
  let end = 0;
  const put = (unit: number): void => {
    units[end++] = unit & 0xff;
    units[end++] = unit >> 8;
  };
  for (let index = 0; index < bytes.length; ) {
    const length = sequenceLength(bytes, index);
    if (length === 0) put(firstStandIn + (bytes[index] ?? 0) - 0x80);
    else if (length < 4) put(codePointAt(bytes, index, length));
    else {
      const above = codePointAt(bytes, index, length) - 0x10000;
      put(0xd800 + (above >> 10));
      put(0xdc00 + (above & 0x3ff));
    }
    index += Math.max(1, length);
  }
  return units.toString("utf16le", 0, end);
}

/** Valid text as it always is; stand-ins as the bytes that they stand for. */
export function brokenUtf8FromText(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, "utf8");
  const bytes = Buffer.allocUnsafe(3 * text.length);
  let end = 0;
  for (let index = 0; index < text.length; index++) {
    const codePoint = text.codePointAt(index) ?? 0;
    if (codePoint > 0xffff) index++;
    if (codePoint >= firstStandIn && codePoint < firstStandIn + 0x80) {
      bytes[end++] = codePoint - firstStandIn + 0x80;
    } else {
      end = putCodePoint(bytes, end, (codePoint & 0x1ff800) === 0xd800 ? replacement : codePoint);
    }
  }
  return bytes.subarray(0, end);
}

/** @returns Where the next one goes. */
function putCodePoint(bytes: Buffer, start: number, codePoint: number): number {
  let end = start;
  if (codePoint < 0x80) {
    bytes[end++] = codePoint;
    return end;
  }
  const following = codePoint < 0x800 ? 1 : codePoint < 0x10000 ? 2 : 3;
  bytes[end++] = ((0xf00 >> (following + 1)) & 0xff) | (codePoint >> (6 * following));
  for (let left = following - 1; left >= 0; left--) bytes[end++] = 0x80 | ((codePoint >> (6 * left)) & 0x3f);
  return end;
}

/** Of a whole sequence. */
function codePointAt(bytes: Buffer, index: number, length: number): number {
  const first = bytes[index] ?? 0;
  let codePoint = length === 1 ? first : first & (0x7f >> length);
  for (let offset = 1; offset < length; offset++) codePoint = (codePoint << 6) | ((bytes[index + offset] ?? 0) & 0x3f);
  return codePoint;
}

/** 0 where no character begins. */
function sequenceLength(bytes: Buffer, index: number): number {
  const first = bytes[index] ?? 0;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const second = bytes[index + 1] ?? 0;
  if (second < lowestSecond(first) || second > highestSecond(first)) return 0;
  for (let offset = 2; offset < length; offset++) {
    if (((bytes[index + offset] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** Above the others where a shorter form would come out. */
function lowestSecond(first: number): number {
  return first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
}

/** Below the others where a surrogate or what is no character would come out. */
function highestSecond(first: number): number {
  return first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
}
