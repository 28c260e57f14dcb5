/** The open standard input of a command. What does not arrive is remembered, not thrown. */
import type { Writable } from "node:stream";
import { wordsOf } from "../../shared/error-words.ts";
import { ToolError } from "../tool-error.ts";

/** What a command has not read may be no more than this, in bytes. */
const maxWaiting = 1024 * 1024;

export class CommandInput {
  readonly #stream: Writable;
  #problem: string | undefined;

  constructor(stream: Writable) {
    this.#stream = stream;
    // A command that closes its input or ends lets what is typed fail later.
    stream.on("error", (error) => (this.#problem ??= wordsOf(error)));
  }

  /** What kept something typed from arriving. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** @throws ToolError when nothing can be typed any more, or not now. */
  check(text: string): void {
    if (this.#problem !== undefined) {
      throw new ToolError(
        `Nothing can be typed any more: the command has closed its standard input (${this.#problem}).`,
      );
    }
    if (this.#stream.writableEnded || this.#stream.destroyed) {
      throw new ToolError("Nothing can be typed any more: the standard input has been closed.");
    }
    const waiting = this.#stream.writableLength;
    if (waiting + Buffer.byteLength(text) > maxWaiting) {
      throw new ToolError(
        `The command reads too slowly: ${waiting} bytes that were typed are not read, and ${maxWaiting} are the most that may wait. ` +
          "Type less, or write it to a file for the command to read.",
      );
    }
  }

  write(text: string): void {
    this.#stream.write(text);
  }

  /** The end of the input, after what was typed. */
  end(): void {
    this.#stream.end();
  }

  close(): void {
    this.#stream.destroy();
  }
}
