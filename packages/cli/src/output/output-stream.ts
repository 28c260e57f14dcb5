/** A standard stream that may be slow, closed, or full. */
import type { Writable } from "node:stream";

export interface OutputStreamOptions {
  stream: Writable & { isTTY?: boolean; columns?: number };
  /** Once it fires nobody waits for a slow reader any more. */
  signal: AbortSignal;
  /** The reader has gone, or the disk is full. Called once. */
  onError(error: Error & { code?: string }): void;
}

export class OutputStream {
  readonly #stream: OutputStreamOptions["stream"];
  readonly #signal: AbortSignal;
  readonly #onStreamError: (error: Error) => void;
  #isGone = false;
  #wake: (() => void) | undefined;

  constructor(options: OutputStreamOptions) {
    this.#stream = options.stream;
    this.#signal = options.signal;
    this.#onStreamError = (error) => {
      const isFirst = !this.#isGone;
      this.#isGone = true;
      this.#wake?.();
      if (isFirst) options.onError(error);
    };
    this.#stream.on("error", this.#onStreamError);
  }

  get isTerminal(): boolean {
    return this.#stream.isTTY === true;
  }

  /** Characters in a line; of something that is no terminal, any number. */
  get columns(): number {
    if (!this.isTerminal) return Number.POSITIVE_INFINITY;
    // A terminal that nobody has told its size says 0.
    const { columns = 0 } = this.#stream;
    return columns > 0 ? columns : 80;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  /** Resolves when there is room for more, when the reader has gone, or at an interrupt. Never rejects. */
  async write(text: string): Promise<void> {
    if (this.#isGone || text === "" || this.#stream.write(text)) return;
    await this.#until((done) => this.#stream.once("drain", done));
  }

  /** Resolves when everything has been handed to the system, under the same conditions. */
  async flush(): Promise<void> {
    if (this.#isGone || this.#stream.writableLength === 0) return;
    await this.#until((done) => this.#stream.write("", done));
  }

  #until(start: (done: () => void) => void): Promise<void> {
    if (this.#signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        this.#signal.removeEventListener("abort", done);
        this.#wake = undefined;
        resolve();
      };
      this.#wake = done;
      this.#signal.addEventListener("abort", done);
      start(done);
    });
  }
}
