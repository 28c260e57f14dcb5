/** UTF-8 with some bytes that are none: they become lone surrogates, which valid UTF-8 never gives, and bytes again. */

export interface BrokenUtf8 {
  text: string;
  /** Characters of more than one byte: what speaks for UTF-8. */
  sequences: number;
  invalidBytes: number;
}

const firstStandIn = 0xdc80;

export function readBrokenUtf8(bytes: Buffer): BrokenUtf8 {
  const pieces: string[] = [];
  let sequences = 0;
  let invalidBytes = 0;
  let start = 0;
  let index = 0;
  while (index < bytes.length) {
    const length = sequenceLength(bytes, index);
    if (length > 1) sequences++;
    if (length > 0) {
      index += length;
      continue;
    }
    pieces.push(bytes.toString("utf8", start, index), standInOf(bytes[index] ?? 0));
    invalidBytes++;
    start = ++index;
  }
  pieces.push(bytes.toString("utf8", start));
  return { text: pieces.join(""), sequences, invalidBytes };
}

/** Valid text as it always is; stand-ins as the bytes that they stand for. */
export function brokenUtf8FromText(text: string): Buffer {
  if (text.isWellFormed()) return Buffer.from(text, "utf8");
  const pieces = text.split(/(?<![\uD800-\uDBFF])([\uDC80-\uDCFF]+)/);
  return Buffer.concat(
    pieces.map((piece, index) =>
      index % 2 === 0 ? Buffer.from(piece, "utf8") : Buffer.from(piece.split("").map(byteOf)),
    ),
  );
}

function standInOf(byte: number): string {
  return String.fromCharCode(firstStandIn + byte - 0x80);
}

function byteOf(standIn: string): number {
  return standIn.charCodeAt(0) - firstStandIn + 0x80;
}

/** 0 where no character begins. */
function sequenceLength(bytes: Buffer, index: number): number {
  const first = bytes[index] ?? 0;
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const length = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  const [lowest, highest] = secondByteRange(first);
  const second = bytes[index + 1] ?? 0;
  if (second < lowest || second > highest) return 0;
  for (let offset = 2; offset < length; offset++) {
    if (((bytes[index + offset] ?? 0) & 0xc0) !== 0x80) return 0;
  }
  return length;
}

/** Narrower where a shorter form, a surrogate or what is no character would come out. */
function secondByteRange(first: number): [lowest: number, highest: number] {
  if (first === 0xe0) return [0xa0, 0xbf];
  if (first === 0xed) return [0x80, 0x9f];
  if (first === 0xf0) return [0x90, 0xbf];
  if (first === 0xf4) return [0x80, 0x8f];
  return [0x80, 0xbf];
}
