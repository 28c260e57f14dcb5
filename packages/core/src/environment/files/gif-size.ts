/** Width and height of a GIF that goes on to its end and has an image in it. */
import type { ImageSize } from "./image-size.ts";

const headerLength = 13;
const imageBlock = 0x2c;
const extensionBlock = 0x21;
const trailer = 0x3b;
/** Without the mark of the block. */
const imageHeaderLength = 9;

export function gifSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < headerLength) return undefined;
  let hasImage = false;
  for (let index = headerLength + tableLength(bytes[10] ?? 0); index < bytes.length; ) {
    const mark = bytes[index];
    if (mark === trailer) {
      return hasImage ? { width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) } : undefined;
    }
    if (mark === extensionBlock) {
      index = afterParts(bytes, index + 2);
    } else if (mark === imageBlock) {
      const table = tableLength(bytes[index + imageHeaderLength] ?? 0);
      // The byte in front of the parts says how wide the codes in them are.
      const parts = index + 1 + imageHeaderLength + table + 1;
      if (bytes[parts] === 0) return undefined;
      index = afterParts(bytes, parts);
      hasImage = true;
    } else {
      return undefined;
    }
  }
  return undefined;
}

/** Of the colours, when the flags say that they follow. */
function tableLength(flags: number): number {
  return (flags & 0x80) === 0 ? 0 : 3 * 2 ** ((flags & 7) + 1);
}

/** Each part begins with its length; one without any is the last. */
function afterParts(bytes: Buffer, start: number): number {
  let index = start;
  for (let length = bytes[index] ?? 0; length > 0; length = bytes[index] ?? 0) index += 1 + length;
  return index + 1;
}
