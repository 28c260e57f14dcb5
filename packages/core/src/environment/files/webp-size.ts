/** Width and height of a WebP of which every part is there and that has an image in it. */
import type { ImageSize } from "./image-size.ts";

const riffHeaderLength = 12;
/** Name and length. */
const chunkHeaderLength = 8;
/** Of a frame: where and how long it is shown. Chunks of its own follow. */
const frameHeaderLength = 16;

export function webpSize(bytes: Buffer): ImageSize | undefined {
  if (bytes.length < riffHeaderLength) return undefined;
  const end = bytes.readUInt32LE(4) + chunkHeaderLength;
  return end > bytes.length ? undefined : sizeIn(bytes.subarray(0, end), riffHeaderLength, imageReaders);
}

/** Of the whole where the first chunk tells it, else of the first image. */
function sizeIn(bytes: Buffer, start: number, readers: ImageReaders): ImageSize | undefined {
  let whole: ImageSize | undefined;
  let image: ImageSize | undefined;
  for (let index = start; index < bytes.length; ) {
    if (index + chunkHeaderLength > bytes.length) return undefined;
    const name = bytes.toString("latin1", index, index + 4);
    const data = index + chunkHeaderLength;
    const length = bytes.readUInt32LE(index + 4);
    if (data + length > bytes.length) return undefined;
    const chunk = bytes.subarray(data, data + length);
    if (name === "VP8X") whole = canvasSize(chunk);
    const reader = readers[name];
    const size = reader?.(chunk);
    if (reader !== undefined && size === undefined) return undefined;
    image ??= size;
    index = data + length + (length % 2);
  }
  return image && (whole ?? image);
}

type ImageReaders = Readonly<Record<string, (chunk: Buffer) => ImageSize | undefined>>;

const stillReaders: ImageReaders = { "VP8 ": lossySize, VP8L: losslessSize };
/** There is no frame within a frame. */
const imageReaders: ImageReaders = {
  ...stillReaders,
  ANMF: (chunk) => sizeIn(chunk, frameHeaderLength, stillReaders),
};

function canvasSize(chunk: Buffer): ImageSize | undefined {
  if (chunk.length < 10) return undefined;
  return { width: chunk.readUIntLE(4, 3) + 1, height: chunk.readUIntLE(7, 3) + 1 };
}

/** A key frame that is shown, with its start code, and a first part that is not longer than what there is. */
function lossySize(chunk: Buffer): ImageSize | undefined {
  if (chunk.length <= 10) return undefined;
  const tag = chunk.readUIntLE(0, 3);
  const firstPartLength = tag >> 5;
  const isKeyFrame = (tag & 1) === 0;
  const isShown = (tag & 0x10) !== 0;
  if (!isKeyFrame || !isShown || chunk.readUIntBE(3, 3) !== 0x9d012a) return undefined;
  if (firstPartLength === 0 || firstPartLength > chunk.length - 10) return undefined;
  return { width: chunk.readUInt16LE(6) & 0x3fff, height: chunk.readUInt16LE(8) & 0x3fff };
}

function losslessSize(chunk: Buffer): ImageSize | undefined {
  if (chunk.length <= 5 || chunk[0] !== 0x2f) return undefined;
  const bits = chunk.readUInt32LE(1);
  // The version, of which there is one.
  if (bits >>> 29 !== 0) return undefined;
  return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
}
