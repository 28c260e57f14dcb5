/** The bytes that a command prints, as text: decoded across reads, without terminal control, binary data left out. */
import { LineRewriter } from "../text/line-rewriter.ts";
import { EscapeStripper } from "./escape-stripper.ts";

/** Judged in pieces of this many bytes, so that binary data after much text is seen too. */
const windowBytes = 1024;
const minBad = 16;
const maxBadShare = 0.1;
const escape = String.fromCharCode(0x1b);
/** What text does not hold: invalid bytes, and control characters that no terminal knows how to show. */
const bad = new RegExp(`[^\\P{Cc}\\t\\n\\r\\b\\v\\f${escape}\\u007f-\\u009f]|\\uFFFD`, "gu");

export class CommandOutput {
  readonly #decoder = new TextDecoder("utf-8");
  readonly #stripper = new EscapeStripper();
  readonly #lines = new LineRewriter();
  #bytes = 0;
  /** Decoded text that has not been judged. */
  #unjudged = "";
  #binary = false;
  #told = false;

  /** Characters that wait to be taken. */
  get pendingLength(): number {
    return this.#lines.pendingLength + this.#unjudged.length;
  }

  push(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#binary) return;
    this.#unjudged += this.#decoder.decode(bytes, { stream: true });
    if (this.#unjudged.length >= windowBytes) this.#judge();
  }

  /** What can be shown now. */
  take(): string {
    this.#judge();
    return this.#lines.takeVisible();
  }

  /** The rest: nothing more comes. */
  takeAll(): string {
    if (!this.#binary) this.#unjudged += this.#decoder.decode();
    this.#judge();
    const rest = this.#lines.takeAll();
    if (!this.#binary || this.#told) return rest;
    this.#told = true;
    return `${rest}${rest === "" || rest.endsWith("\n") ? "" : "\n"}[binary output, ${this.#bytes} bytes in all: not shown]\n`;
  }

  #judge(): void {
    const text = this.#unjudged;
    this.#unjudged = "";
    for (let start = 0; start < text.length && !this.#binary; start += windowBytes) {
      const window = text.slice(start, start + windowBytes);
      const count = window.match(bad)?.length ?? 0;
      if (count >= minBad && count > window.length * maxBadShare) this.#binary = true;
      else this.#lines.push(this.#stripper.push(window));
    }
  }
}
