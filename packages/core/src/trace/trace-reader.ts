/** Reads Trace files in pieces: forward line by line, or from either end. */
import { isUtf8 } from "node:buffer";
import type { FileHandle } from "node:fs/promises";
import type { OmniMessage } from "@coxswain/protocol";
import type { TraceContents } from "../engine/ports.ts";
import { decodeLine } from "./codec.ts";
import { openForRead } from "./safe-files.ts";

const chunkBytes = 1024 * 1024;
/** A longer line cannot be a string of this platform. */
const maxLineBytes = 256 * 1024 * 1024;
const newline = 0x0a;

/**
 * One model context. Nothing in the file can make this throw; a missing or foreign file does.
 *
 * @param open Default: as a file of ours, which nobody else can have put there.
 */
export async function readContext(
  path: string,
  open: (path: string) => Promise<FileHandle> = openForRead,
): Promise<Omit<TraceContents, "usageBefore">> {
  const file = await open(path);
  try {
    const lines = new LineReader();
    const { size } = await file.stat();
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, size + 1));
    for (;;) {
      const { bytesRead } = await file.read(chunk, 0, chunk.length, null);
      if (bytesRead === 0) return lines.finish();
      lines.take(chunk.subarray(0, bytesRead));
    }
  } finally {
    await file.close();
  }
}

class LineReader {
  readonly #messages: OmniMessage[] = [];
  readonly #skippedLines: number[] = [];
  #lineNumber = 0;
  /** The beginning of a line whose end has not been read. */
  #open: Buffer[] = [];
  #openBytes = 0;

  take(chunk: Buffer): void {
    let start = 0;
    for (let end = chunk.indexOf(newline); end !== -1; end = chunk.indexOf(newline, start)) {
      const rest = chunk.subarray(start, end);
      this.#line(this.#openBytes === 0 ? rest : this.#joined(rest));
      start = end + 1;
    }
    this.#keep(chunk.subarray(start));
  }

  #keep(bytes: Buffer): void {
    if (bytes.length === 0) return;
    this.#openBytes += bytes.length;
    // The chunk is reused. What is too long to be read is counted, not kept.
    if (this.#openBytes <= maxLineBytes) this.#open.push(Buffer.from(bytes));
  }

  #joined(rest: Buffer): Buffer | undefined {
    const line = this.#openBytes + rest.length > maxLineBytes ? undefined : Buffer.concat([...this.#open, rest]);
    this.#open = [];
    this.#openBytes = 0;
    return line;
  }

  #line(bytes: Buffer | undefined): void {
    this.#lineNumber += 1;
    if (bytes === undefined || this.#decode(bytes) !== "read") this.#skippedLines.push(this.#lineNumber);
  }

  #decode(bytes: Buffer): "read" | "unreadable" | "invalid" {
    const text = textOf(bytes, this.#lineNumber === 1);
    if (text === undefined) return "unreadable";
    // Only short lines can be blank ones; looking at long ones would cost.
    if (text.length < 8 && text.trim() === "") return "read";
    const decoded = decodeLine(text);
    if (decoded.kind !== "message") return decoded.kind;
    this.#messages.push(decoded.message);
    return "read";
  }

  finish(): Omit<TraceContents, "usageBefore"> {
    let tornTail = false;
    if (this.#openBytes > 0) {
      this.#lineNumber += 1;
      const bytes = this.#joined(Buffer.alloc(0));
      const result = bytes === undefined ? "unreadable" : this.#decode(bytes);
      // A line can be whole and lack only its newline. A cut one is no JSON.
      tornTail = result === "unreadable";
      if (result === "invalid") this.#skippedLines.push(this.#lineNumber);
    }
    return { messages: this.#messages, tornTail, skippedLines: this.#skippedLines };
  }
}

/** `undefined` when the bytes are not UTF-8: they are not what was written. */
function textOf(bytes: Buffer, isFirstLine: boolean): string | undefined {
  if (!isUtf8(bytes)) return undefined;
  const text = bytes.toString("utf8");
  return isFirstLine && text.startsWith("\ufeff") ? text.slice(1) : text;
}

/** The messages of the whole lines in a piece of a file. */
function messagesIn(piece: Buffer): OmniMessage[] {
  const messages: OmniMessage[] = [];
  for (const line of piece.toString("utf8").split("\n")) {
    const decoded = decodeLine(line);
    if (decoded.kind === "message") messages.push(decoded.message);
  }
  return messages;
}

async function readPiece(file: FileHandle, position: number, length: number): Promise<Buffer> {
  const piece = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const { bytesRead } = await file.read(piece, done, length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return piece.subarray(0, done);
}

/**
 * Looks at the messages at the end of a file, at ever more of them, until `pick` finds what it looks for, or `maxBytes`
 * have been read.
 */
export async function findFromEnd<T>(
  path: string,
  maxBytes: number,
  pick: (messages: OmniMessage[]) => T | undefined,
): Promise<T | undefined> {
  return findInPieces(path, maxBytes, pick, (size, length) => size - length);
}

/** The same from the beginning. */
export async function findFromStart<T>(
  path: string,
  maxBytes: number,
  pick: (messages: OmniMessage[]) => T | undefined,
): Promise<T | undefined> {
  return findInPieces(path, maxBytes, pick, () => 0);
}

const firstPieceBytes = 16 * 1024;

async function findInPieces<T>(
  path: string,
  maxBytes: number,
  pick: (messages: OmniMessage[]) => T | undefined,
  startOf: (size: number, length: number) => number,
): Promise<T | undefined> {
  const file = await openForRead(path);
  try {
    const { size } = await file.stat();
    const limit = Math.min(size, maxBytes);
    for (let length = Math.min(limit, firstPieceBytes); ; length = Math.min(limit, length * 8)) {
      const found = pick(messagesIn(await readPiece(file, startOf(size, length), length)));
      if (found !== undefined || length >= limit) return found;
    }
  } finally {
    await file.close();
  }
}
