import { headOf } from "../../shared/cut.ts";

/** What a reader sees of a running tool: at most `limit` characters, then one `[…]`. */
export class LiveView {
  #left: number;
  #closed = false;
  #carriageReturn = false;

  constructor(limit: number) {
    this.#left = limit;
  }

  /** The delta to show; empty when there is none. What rewrites a line is shown on a line of its own. */
  push(text: string): string {
    if (this.#closed || text === "") return "";
    // What is taken back has been shown.
    const joined = (this.#carriageReturn ? "\r" : "") + text.replaceAll("\b", "");
    this.#carriageReturn = joined.endsWith("\r");
    const shown = (this.#carriageReturn ? joined.slice(0, -1) : joined).replace(/\r+(?!\n)/g, "\n");
    if (shown.length <= this.#left) {
      this.#left -= shown.length;
      return shown;
    }
    this.#closed = true;
    return `${headOf(shown, this.#left)}[…]`;
  }
}
