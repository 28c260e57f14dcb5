/** One context's file, in memory: bytes, and what they say. */
import { createRecordEncoder, decodeLine, type OmniMessage } from "@coxswain/core";

const encode = createRecordEncoder();
const newline = 0x0a;

export function encodeRecord(record: OmniMessage): Buffer {
  return Buffer.from(`${encode(record)}\n`);
}

export class TraceFile {
  readonly #bytes: Buffer[] = [];
  #endsTorn = false;
  /** Records whose lines are whole, as they are read. */
  readonly records: OmniMessage[] = [];

  /** Its last line was cut. */
  get endsTorn(): boolean {
    return this.#endsTorn;
  }

  get isEmpty(): boolean {
    return this.#bytes.length === 0;
  }

  /** @returns The record as a reader of the file gets it. */
  append(line: Buffer): OmniMessage {
    if (this.#endsTorn) this.#bytes.push(Buffer.of(newline));
    this.#endsTorn = false;
    this.#bytes.push(line);
    const decoded = decodeLine(line.toString("utf8"));
    if (decoded.kind !== "message") throw new Error(`the codec cannot read what it wrote: ${line.toString("utf8")}`);
    this.records.push(decoded.message);
    return decoded.message;
  }

  /**
   * The process dies in the middle of a line.
   *
   * @returns The record when only the line's end is missing.
   */
  tear(line: Buffer, length: number): OmniMessage | undefined {
    if (this.#endsTorn) this.#bytes.push(Buffer.of(newline));
    const part = line.subarray(0, length);
    this.#bytes.push(part);
    this.#endsTorn = true;
    const decoded = decodeLine(part.toString("utf8"));
    if (decoded.kind !== "message") return undefined;
    this.records.push(decoded.message);
    return decoded.message;
  }

  /** As a new process reads it. */
  read(): OmniMessage[] {
    const messages: OmniMessage[] = [];
    const content = Buffer.concat(this.#bytes);
    let start = 0;
    for (let end = content.indexOf(newline); end !== -1; end = content.indexOf(newline, start)) {
      const decoded = decodeLine(content.toString("utf8", start, end));
      if (decoded.kind === "message") messages.push(decoded.message);
      start = end + 1;
    }
    const last = decodeLine(content.toString("utf8", start));
    if (last.kind === "message") messages.push(last.message);
    return messages;
  }
}
