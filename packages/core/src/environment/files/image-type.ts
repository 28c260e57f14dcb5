/** The images that models take: what they are by their bytes, and whether a provider could refuse them. */
import { gifSize } from "./gif-size.ts";
import type { ImageSize } from "./image-size.ts";
import { pngSize } from "./png-size.ts";
import { webpSize } from "./webp-size.ts";

/** The media type, by the first bytes. */
export function imageType(bytes: Buffer): string | undefined {
  const ascii = bytes.subarray(0, 16).toString("latin1");
  if (ascii.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (ascii.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (ascii.startsWith("GIF87a") || ascii.startsWith("GIF89a")) return "image/gif";
  if (ascii.startsWith("RIFF") && ascii.slice(8, 12) === "WEBP") return "image/webp";
  return undefined;
}

/** `undefined` when the file is damaged or ends early, as far as that can be seen without drawing it. */
export function imageSize(type: string, bytes: Buffer): ImageSize | undefined {
  const size = sizeReaders[type]?.(bytes);
  return size === undefined || size.width === 0 || size.height === 0 ? undefined : size;
}

const sizeReaders: Readonly<Record<string, (bytes: Buffer) => ImageSize | undefined>> = {
  "image/png": pngSize,
  "image/jpeg": jpegSize,
  "image/gif": gifSize,
  "image/webp": webpSize,
};

const startOfScan = 0xda;
const endOfImage = Buffer.from([0xff, 0xd9]);
/** Frames of every kind, without the tables whose numbers lie among theirs. */
const frameMarkers = new Set([0xc0, 0xc1, 0xc2, 0xc3, 0xc5, 0xc6, 0xc7, 0xc9, 0xca, 0xcb, 0xcd, 0xce, 0xcf]);

function jpegSize(bytes: Buffer): ImageSize | undefined {
  let size: ImageSize | undefined;
  for (let index = 2; index + 4 <= bytes.length && bytes[index] === 0xff; ) {
    const marker = bytes[index + 1] ?? 0;
    if (marker === 0xff) {
      index++;
      continue;
    }
    if (marker === startOfScan) return bytes.lastIndexOf(endOfImage) > index ? size : undefined;
    if (frameMarkers.has(marker) && index + 9 <= bytes.length) {
      size = { height: bytes.readUInt16BE(index + 5), width: bytes.readUInt16BE(index + 7) };
    }
    index += 2 + Math.max(2, bytes.readUInt16BE(index + 2));
  }
  return undefined;
}
