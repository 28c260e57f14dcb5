/** A line as it is typed, edited without the terminal's help. */
import { ControlStripper } from "../terminal-text.ts";

const ctrlD = "\x04";
const ctrlU = "\x15";
const escape = "\x1b";

export class TypedLine {
  readonly #maxLength: number;
  /** Arrow keys and the marks around a paste are no text. */
  readonly #sequences = new ControlStripper();
  #text = "";

  constructor(maxLength: number) {
    this.#maxLength = maxLength;
  }

  /** What has been typed of a line that is not ended. */
  get text(): string {
    return this.#text;
  }

  clear(): void {
    this.#text = "";
    this.#sequences.reset();
  }

  /** @returns The lines that were ended. */
  type(keys: string): string[] {
    // The key itself; a sequence comes in one piece.
    if (keys === escape) return [];
    const lines: string[] = [];
    for (const key of keys) {
      if (key === "\r" || key === "\n" || key === ctrlD) {
        lines.push(this.#text);
        this.clear();
      } else if (key === "\b" || key === "\x7f") this.#text = this.#text.replace(/.$/su, "");
      else if (key === ctrlU) this.clear();
      else if (this.#text.length < this.#maxLength) this.#text += this.#sequences.push(key);
    }
    return lines;
  }
}
