/** The output that the model gets: whole, or head and tail with the whole kept in a file. Memory is bounded. */
import { randomUUID } from "node:crypto";
import { closeSync, mkdirSync, openSync, rmSync, writeSync } from "node:fs";
import { join } from "node:path";
import { headOf, tailOf } from "../../shared/cut.ts";

const maxSpillBytes = 8 * 1024 * 1024;

export interface OutputStoreOptions {
  /** Characters of the result at most. */
  limit: number;
  /** Where the whole output is kept when it is longer. */
  scratchpadDir: string;
}

export class OutputStore {
  readonly #limit: number;
  readonly #scratchpadDir: string;
  #length = 0;
  /** Everything while it fits, then the first `limit` characters. */
  #head = "";
  /** Once it does not fit: the last `limit` characters and a bit. */
  #tail = "";
  #spill: SpillFile | undefined;

  constructor(options: OutputStoreOptions) {
    this.#limit = options.limit;
    this.#scratchpadDir = options.scratchpadDir;
  }

  /** Of all that was appended. */
  get length(): number {
    return this.#length;
  }

  /** The beginning, at most `limit` characters. */
  get head(): string {
    return this.#head;
  }

  get endsLine(): boolean {
    return (this.#spill === undefined ? this.#head : this.#tail).endsWith("\n");
  }

  append(text: string): void {
    if (text === "") return;
    this.#length += text.length;
    if (this.#spill === undefined) {
      const all = this.#head + text;
      if (this.#length <= this.#limit) {
        this.#head = all;
        return;
      }
      this.#spill = this.#openSpill(all);
      this.#head = headOf(all, this.#limit);
      this.#tail = tailOf(all, this.#limit);
      return;
    }
    this.#spill.write(text);
    this.#tail += text;
    if (this.#tail.length > 4 * this.#limit + 64 * 1024) this.#tail = tailOf(this.#tail, this.#limit);
  }

  /**
   * The text for the model; nothing is appended any more.
   *
   * @param limit Characters at most: the store's limit or less.
   */
  finish(limit: number = this.#limit): string {
    if (this.#length <= limit) return this.#head;
    this.#spill ??= this.#openSpill(this.#head);
    const spill = this.#spill;
    spill.close();
    const marker = (leftOut: number): string => `\n[… ${leftOut} characters left out; ${spill.words()} …]\n`;
    const room = limit - marker(this.#length).length;
    if (room < 2) return `${headOf(this.#head, limit - 3)}[…]`;
    const head = headOf(this.#head, Math.floor(room / 2));
    const tail = tailOf(this.#tail === "" ? this.#head : this.#tail, room - Math.floor(room / 2));
    return head + marker(this.#length - head.length - tail.length) + tail;
  }

  /** Closes the file of a store that is not finished. */
  close(): void {
    this.#spill?.close();
  }

  /** For text that nobody is given: its file goes too. */
  discard(): void {
    this.#spill?.remove();
  }

  #openSpill(text: string): SpillFile {
    const spill = new SpillFile(join(this.#scratchpadDir, "outputs"));
    spill.write(text);
    return spill;
  }
}

class SpillFile {
  readonly #path: string;
  #descriptor: number | undefined;
  #bytes = 0;
  #full = false;
  #error: string | undefined;

  constructor(directory: string) {
    this.#path = join(directory, `${randomUUID()}.txt`);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
      this.#descriptor = openSync(this.#path, "wx", 0o600);
    } catch (error) {
      this.#error = String(error);
    }
  }

  write(text: string): void {
    if (this.#descriptor === undefined || this.#full) return;
    let bytes = Buffer.from(text);
    if (this.#bytes + bytes.length > maxSpillBytes) {
      this.#full = true;
      bytes = bytes.subarray(0, wholeCharacters(bytes, maxSpillBytes - this.#bytes));
    }
    try {
      for (let offset = 0; offset < bytes.length; ) offset += writeSync(this.#descriptor, bytes, offset);
      this.#bytes += bytes.length;
    } catch (error) {
      this.#error = String(error);
      this.close();
    }
  }

  words(): string {
    if (this.#error !== undefined) return `the whole could not be kept: ${this.#error}`;
    return this.#full
      ? `the first ${maxSpillBytes / 1024 / 1024} MiB are in ${this.#path}`
      : `the whole output is in ${this.#path}`;
  }

  close(): void {
    if (this.#descriptor !== undefined) closeSync(this.#descriptor);
    this.#descriptor = undefined;
  }

  remove(): void {
    this.close();
    rmSync(this.#path, { force: true });
  }
}

/** The longest length of at most `length` bytes that does not end within a UTF-8 character. */
function wholeCharacters(bytes: Buffer, length: number): number {
  let end = length;
  while (end > 0 && ((bytes[end] ?? 0) & 0xc0) === 0x80) end--;
  return end;
}
