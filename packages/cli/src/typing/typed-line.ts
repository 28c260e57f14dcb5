/** A line as it is typed, edited without the terminal's help. */
import { stripControls } from "../terminal-text.ts";
import { KeySequences } from "./key-sequences.ts";

const ctrlD = "\x04";
const ctrlU = "\x15";

export class TypedLine {
  readonly #maxLength: number;
  readonly #sequences = new KeySequences();
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
    const lines: string[] = [];
    for (const key of this.#sequences.text(keys)) {
      if (key === "\r" || key === "\n" || key === ctrlD) {
        lines.push(this.#text);
        this.#text = "";
      } else if (key === "\b" || key === "\x7f") this.#text = this.#text.replace(/.$/su, "");
      else if (key === ctrlU) this.#text = "";
      else if (this.#text.length < this.#maxLength) this.#text += stripControls(key);
    }
    return lines;
  }
}
