/** What one watcher of a command has not been shown yet. A slow one misses what a live view would not show anyway. */
import { headOf } from "../../shared/cut.ts";

export class LiveFeed {
  #text = "";
  #left: number;
  #closed = false;
  #wake: (() => void) | undefined;
  readonly #onClose: () => void;

  /** @param limit Characters of the view; a few more are given, so that the view knows that there was more. */
  constructor(limit: number, onClose: () => void) {
    this.#left = limit + 2;
    this.#onClose = onClose;
  }

  push(text: string): void {
    if (this.#closed || this.#left <= 0 || text === "") return;
    const shown = headOf(text, this.#left);
    this.#left = shown.length < text.length ? 0 : this.#left - shown.length;
    this.#text += shown;
    this.#wake?.();
  }

  /** The next text, as soon as there is some; `undefined` after the last. One reader. */
  async next(): Promise<string | undefined> {
    if (this.#text === "" && !this.#closed) await new Promise<void>((resolve) => (this.#wake = resolve));
    this.#wake = undefined;
    const text = this.#text;
    this.#text = "";
    return text === "" ? undefined : text;
  }

  /** Nothing more comes. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#onClose();
    this.#wake?.();
  }
}
