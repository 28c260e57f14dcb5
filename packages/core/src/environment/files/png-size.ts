/** Width and height of a PNG of which every part that is needed is whole. */
import { crc32 } from "node:zlib";
import type { ImageSize } from "./image-size.ts";

const signatureLength = 8;
/** Length, type and checksum. */
const frameLength = 12;

export function pngSize(bytes: Buffer): ImageSize | undefined {
  let size: ImageSize | undefined;
  let hasData = false;
  for (let index = signatureLength; index + frameLength <= bytes.length; ) {
    const length = bytes.readUInt32BE(index);
    const end = index + frameLength + length;
    if (end > bytes.length) return undefined;
    const type = bytes.toString("latin1", index + 4, index + 8);
    if (isNeeded(type) && crc32(bytes.subarray(index + 4, end - 4)) !== bytes.readUInt32BE(end - 4)) return undefined;
    if (type === "IHDR" && length === 13) {
      size = { width: bytes.readUInt32BE(index + 8), height: bytes.readUInt32BE(index + 12) };
    }
    if (type === "IDAT") hasData = true;
    if (type === "IEND") return hasData ? size : undefined;
    index = end;
  }
  return undefined;
}

/** The case of its first letter says whether an image can be drawn without a part. */
function isNeeded(type: string): boolean {
  return /^[A-Z]/.test(type);
}
