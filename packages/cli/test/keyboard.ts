import { PassThrough } from "node:stream";

/** A keyboard: what a test types arrives as it would in raw mode. */
export class Keyboard extends PassThrough {
  readonly modes: boolean[] = [];
  #typed: (() => void) | undefined;

  setRawMode(isRaw: boolean): this {
    this.modes.push(isRaw);
    if (isRaw) this.#typed?.();
    return this;
  }

  /** Types once somebody listens. */
  async type(text: string): Promise<void> {
    if (this.modes.at(-1) !== true) await new Promise<void>((resolve) => (this.#typed = resolve));
    this.write(text);
  }
}
