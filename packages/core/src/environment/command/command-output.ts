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
  #decoder = new TextDecoder("utf-8");
  #stripper = new EscapeStripper();
  readonly #lines = new LineRewriter();
  #bytes = 0;
  /** Decoded text that has not been judged. */
  #unjudged = "";
  #binary = false;

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

  /** Everything so far, also a line that is being rewritten. After binary data that is told, all is judged anew. */
  takeSoFar(): string {
    this.#judge();
    return this.#withBinaryWords(this.#lines.takeAll(), "so far");
  }

  /** The rest: nothing more comes. */
  takeAll(): string {
    if (!this.#binary) this.#unjudged += this.#decoder.decode();
    this.#judge();
    return this.#withBinaryWords(this.#lines.takeAll(), "in all");
  }

  #withBinaryWords(text: string, extent: string): string {
    if (!this.#binary) return text;
    this.#binary = false;
    this.#decoder = new TextDecoder("utf-8");
    this.#stripper = new EscapeStripper();
    const newline = text === "" || text.endsWith("\n") ? "" : "\n";
    return `${text}${newline}[binary output, ${this.#bytes} bytes ${extent}: not shown]\n`;
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
