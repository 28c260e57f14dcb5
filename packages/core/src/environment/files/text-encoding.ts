/** Bytes of a text file into text and back, byte-equal where the text is unchanged. */
import { isUtf8 } from "node:buffer";
import { brokenUtf8FromText, isMostlyUtf8, textFromBrokenUtf8 } from "./broken-utf8.ts";

type Encoding = "utf8" | "utf16le" | "utf16be" | "windows-1252";

export interface TextForm {
  encoding: Encoding;
  byteOrderMark: boolean;
}

export interface DecodedText extends TextForm {
  /** Without the byte order mark. Bytes that are no UTF-8 are lone surrogates in it. */
  text: string;
}

const marks: readonly { bytes: readonly number[]; encoding: Encoding }[] = [
  { bytes: [0xef, 0xbb, 0xbf], encoding: "utf8" },
  { bytes: [0xff, 0xfe], encoding: "utf16le" },
  { bytes: [0xfe, 0xff], encoding: "utf16be" },
];

/** By its mark. */
export function isUtf16(bytes: Buffer): boolean {
  const encoding = markOf(bytes)?.encoding;
  return encoding === "utf16le" || encoding === "utf16be";
}

function markOf(bytes: Buffer): (typeof marks)[number] | undefined {
  return marks.find((mark) => mark.bytes.every((byte, index) => bytes[index] === byte));
}

/** `undefined` for binary data, which is what has a NUL in it. */
export function decodeText(bytes: Buffer): DecodedText | undefined {
  const mark = markOf(bytes);
  const byteOrderMark = mark !== undefined;
  const body = bytes.subarray(mark?.bytes.length ?? 0);
  if (mark !== undefined && mark.encoding !== "utf8") {
    const text = body.length % 2 === 0 ? decodeUtf16(body, mark.encoding) : "\0";
    return text.includes("\0") ? undefined : { text, encoding: mark.encoding, byteOrderMark };
  }
  if (body.includes(0)) return undefined;
  if (isUtf8(body)) return { text: body.toString("utf8"), encoding: "utf8", byteOrderMark };
  if (byteOrderMark || isMostlyUtf8(body)) {
    return { text: textFromBrokenUtf8(body), encoding: "utf8", byteOrderMark };
  }
  return { text: decodeWindows1252(body), encoding: "windows-1252", byteOrderMark };
}

/** @returns `undefined` when the encoding lacks a character of the text. */
export function encodeText(text: string, { encoding, byteOrderMark }: TextForm): Buffer | undefined {
  if (encoding === "windows-1252") return encodeWindows1252(text);
  const marked = byteOrderMark ? `\uFEFF${text}` : text;
  if (encoding === "utf8") return brokenUtf8FromText(marked);
  const bytes = Buffer.from(marked, "utf16le");
  return encoding === "utf16be" ? bytes.swap16() : bytes;
}

/** What a reader should know of how the text was read. */
export function formNote({ text, encoding }: DecodedText): string | undefined {
  if (encoding === "windows-1252") return "[this is no UTF-8: read, and written again, as Windows-1252 (Latin-1)]";
  if (text.isWellFormed()) return undefined;
  return encoding === "utf8"
    ? "[some bytes are no UTF-8 and shown as \uFFFD; an edit of other places leaves them as they are]"
    : "[some units are half a character and shown as \uFFFD; an edit of other places leaves them as they are]";
}

function decodeUtf16(bytes: Buffer, encoding: Encoding): string {
  return encoding === "utf16be" ? Buffer.from(bytes).swap16().toString("utf16le") : bytes.toString("utf16le");
}

/** What it has in the place of the controls of Latin-1, from 0x80 on; five of them it leaves as they are. */
const instead = "€\u0081‚ƒ„…†‡ˆ‰Š‹Œ\u008DŽ\u008F\u0090‘’“”•–—˜™š›œ\u009DžŸ";

function decodeWindows1252(bytes: Buffer): string {
  const text = bytes.toString("latin1");
  if (!/[\u0080-\u009F]/.test(text)) return text;
  const units = Buffer.allocUnsafe(2 * bytes.length);
  for (let index = 0; index < bytes.length; index++) {
    const byte = bytes[index] ?? 0;
    const unit = byte < 0x80 || byte > 0x9f ? byte : instead.charCodeAt(byte - 0x80);
    units[2 * index] = unit & 0xff;
    units[2 * index + 1] = unit >> 8;
  }
  return units.toString("utf16le");
}

const byteInstead = new Map(Array.from(instead, (character, index) => [character.charCodeAt(0), 0x80 + index]));

function encodeWindows1252(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "latin1");
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit < 0x80 || (unit > 0x9f && unit <= 0xff)) continue;
    const byte = byteInstead.get(unit);
    if (byte === undefined) return undefined;
    bytes[index] = byte;
  }
  return bytes;
}
