/** What is typed at the terminal, key by key: never echoed, never left for the shell, and each key for one reader. */
import { StringDecoder } from "node:string_decoder";
import type { Clock } from "@coxswain/core";
import type { JobControl } from "./job-control.ts";

export interface KeyReader {
  /** What was typed, in pieces of any length. */
  keys(text: string): void;
  /** Nothing more will be typed. */
  end?(): void;
  /** Another reader takes its place for a while. */
  covered?(): void;
  /** Nothing goes on before it is answered: in the background it stops the command until that is in front again. */
  isQuestion?: boolean;
}

export interface KeyboardOptions {
  stdin: NodeJS.ReadStream;
  clock: Clock;
  jobControl: JobControl;
  /** Ctrl-C arrives as a key. */
  interrupt: () => void;
}

/** Not every shell tells a command that went on in the background when it is in front again. */
const lookAgainMs = 1000;
const ctrlC = "\x03";
const ctrlBackslash = "\x1c";
const ctrlZ = "\x1a";

/** As long as somebody listens, the terminal neither shows what is typed nor acts on it. */
export class Keyboard {
  readonly #options: KeyboardOptions;
  /** The last one gets the keys. */
  readonly #readers: KeyReader[] = [];
  readonly #decoder = new StringDecoder("utf8");
  #isTaken = false;
  #isHeld = false;
  #lastKeyAtMs = Number.NEGATIVE_INFINITY;
  #isOver = false;
  /** Fires when nobody need look whether the terminal is ours again. */
  #looking = new AbortController();

  constructor(options: KeyboardOptions) {
    this.#options = options;
  }

  /** Nothing more will be typed. */
  get isOver(): boolean {
    const { stdin } = this.#options;
    return this.#isOver || stdin.readableEnded || stdin.destroyed;
  }

  /** Somebody may listen for as long as the command runs. */
  get isHeld(): boolean {
    return this.#isHeld;
  }

  /** When something was last typed that is not done with. */
  get lastKeyAtMs(): number {
    return this.#lastKeyAtMs;
  }

  /** What was typed so far has been understood. */
  understood(): void {
    this.#lastKeyAtMs = Number.NEGATIVE_INFINITY;
  }

  /** @returns Stops it. The terminal is as it was once nobody listens. */
  listen(reader: KeyReader): () => void {
    const added: KeyReader = {
      keys: (text) => reader.keys(text),
      end: () => reader.end?.(),
      covered: () => reader.covered?.(),
      isQuestion: reader.isQuestion === true,
    };
    this.#readers.at(-1)?.covered?.();
    this.#readers.push(added);
    if (this.#readers.length === 1) this.#start();
    else if (reader.isQuestion === true && !this.#isTaken) this.#take();
    return () => this.#remove(added);
  }

  /** Swallows what is typed until `close`, when nobody else listens; not where the terminal is another one's. */
  hold(): void {
    if (this.isOver || this.#options.stdin.isTTY !== true || !this.#options.jobControl.isInForeground()) return;
    this.listen({ keys: () => undefined });
    this.#isHeld = true;
  }

  /** Restores the terminal, whoever listens. */
  close(): void {
    for (const reader of this.#readers.slice()) this.#remove(reader);
  }

  #start(): void {
    const { stdin } = this.#options;
    stdin.on("data", this.#onData);
    stdin.on("end", this.#onEnd);
    stdin.on("error", this.#onEnd);
    process.on("SIGCONT", this.#takeAgain);
    this.#take();
  }

  #remove(reader: KeyReader): void {
    const index = this.#readers.indexOf(reader);
    if (index === -1) return;
    this.#readers.splice(index, 1);
    if (this.#readers.length > 0) return;
    const { stdin } = this.#options;
    stdin.off("data", this.#onData);
    stdin.off("end", this.#onEnd);
    stdin.off("error", this.#onEnd);
    process.off("SIGCONT", this.#takeAgain);
    this.#giveBack();
  }

  #take(): void {
    this.#looking.abort();
    this.#isTaken = true;
    this.#options.stdin.setRawMode(true);
    this.#options.stdin.resume();
  }

  #giveBack(): void {
    this.#looking.abort();
    if (!this.#isTaken) return;
    this.#isTaken = false;
    this.#options.stdin.setRawMode(false);
    this.#options.stdin.pause();
  }

  /** The shell has set the terminal to its own liking meanwhile; in the background it is no longer ours. */
  readonly #takeAgain = (): void => {
    if (this.#readers.length === 0) return;
    if (this.#options.jobControl.isInForeground() || this.#readers.at(-1)?.isQuestion === true) {
      this.#giveBack();
      this.#take();
    } else {
      if (this.#isTaken) this.#options.stdin.pause();
      this.#isTaken = false;
      this.#lookAgain();
    }
  };

  #lookAgain(): void {
    this.#looking.abort();
    this.#looking = new AbortController();
    const { signal } = this.#looking;
    void this.#options.clock.sleep(lookAgainMs, signal).then(() => {
      if (!signal.aborted) this.#takeAgain();
    });
  }

  readonly #onData = (bytes: Buffer): void => {
    const { clock, interrupt, jobControl } = this.#options;
    const text = this.#decoder.write(bytes);
    if (text === "") return;
    if (text.includes(ctrlC) || text.includes(ctrlBackslash)) return interrupt();
    if (text.includes(ctrlZ)) {
      this.#giveBack();
      jobControl.suspend();
      // Where nothing stops us, nothing tells us to go on.
      setImmediate(this.#takeAgain);
      return;
    }
    this.#lastKeyAtMs = clock.now();
    this.#readers.at(-1)?.keys(text);
  };

  readonly #onEnd = (): void => {
    this.#isOver = true;
    for (const reader of this.#readers.slice()) reader.end?.();
  };
}
