/** Bytes of a text file into text and back, byte-equal where the text is unchanged. */
import { isUtf8 } from "node:buffer";

type Encoding = "utf8" | "utf16le" | "utf16be" | "latin1";

export interface DecodedText {
  /** Without the byte order mark. */
  text: string;
  encoding: Encoding;
  byteOrderMark: boolean;
}

const marks: readonly { bytes: readonly number[]; encoding: Encoding }[] = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf8" },
  { bytes: [0xff, 0xfe], encoding: "utf16le" },
  { bytes: [0xfe, 0xff], encoding: "utf16be" },
];

/** What is neither UTF-8 nor marked as UTF-16 is read as Latin-1. `undefined` for binary data. */
export function decodeText(bytes: Buffer): DecodedText | undefined {
  const mark = marks.find((candidate) => candidate.bytes.every((byte, index) => bytes[index] === byte));
  if (mark !== undefined) {
    const body = bytes.subarray(mark.bytes.length);
    if (mark.encoding !== "utf8") {
      if (body.length % 2 !== 0) return undefined;
      return { text: decodeUtf16(body, mark.encoding), encoding: mark.encoding, byteOrderMark: true };
    }
    if (isUtf8(body)) return { text: body.toString("utf8"), encoding: "utf8", byteOrderMark: true };
  }
  if (bytes.includes(0)) return undefined;
  const encoding = isUtf8(bytes) ? "utf8" : "latin1";
  return { text: bytes.toString(encoding), encoding, byteOrderMark: false };
}

/** @returns `undefined` when the encoding lacks a character of the text. */
export function encodeText(decoded: DecodedText): Buffer | undefined {
  const { text, encoding } = decoded;
  if (encoding === "latin1") return /[\u0100-\uFFFF]/.test(text) ? undefined : Buffer.from(text, "latin1");
  const marked = decoded.byteOrderMark ? `\uFEFF${text}` : text;
  if (encoding === "utf8") return Buffer.from(marked, "utf8");
  const bytes = Buffer.from(marked, "utf16le");
  return encoding === "utf16be" ? bytes.swap16() : bytes;
}

function decodeUtf16(bytes: Buffer, encoding: Encoding): string {
  return encoding === "utf16be" ? Buffer.from(bytes).swap16().toString("utf16le") : bytes.toString("utf16le");
}
