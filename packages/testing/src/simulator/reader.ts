/** Who reads a run: eagerly, or when the schedule lets him. */
import type { OmniMessage } from "@coxswain/core";
import type { Gates } from "./gates.ts";
import type { Observer } from "./observation.ts";

export interface ReaderOptions {
  gates: Gates;
  log: Observer;
  isEager: boolean;
  /** Called in the moment in which he sees a message, before he asks for the next. */
  onMessage(message: OmniMessage): void;
}

export class Reader {
  readonly #stream: AsyncGenerator<OmniMessage, void>;
  readonly #options: ReaderOptions;
  isEager: boolean;
  hasEnded = false;
  /** Saw the last message, rather than leaving before. */
  isReadToEnd = false;
  /** What the run threw. */
  failure: unknown;
  #isPending = false;
  #hasLeft = false;
  #gate: { kind: "reader"; label: string; open: () => void } | undefined;

  constructor(stream: AsyncGenerator<OmniMessage, void>, options: ReaderOptions) {
    this.#stream = stream;
    this.#options = options;
    this.isEager = options.isEager;
  }

  get isPending(): boolean {
    return this.#isPending;
  }

  /** Asks for the next message; from then on whenever he has seen one. */
  ask(): void {
    this.#isPending = true;
    this.#stream.next().then(
      (result) => this.#take(result),
      (error: unknown) => {
        this.failure = error;
        this.hasEnded = true;
      },
    );
  }

  /** From now on without the schedule. */
  hurry(): void {
    this.isEager = true;
    if (this.#gate === undefined) return;
    this.#options.gates.remove(this.#gate);
    this.#gate = undefined;
    this.ask();
  }

  /** Leaves the loop, whether he waits for a message or not. */
  leave(): void {
    if (this.#hasLeft || this.hasEnded) return;
    this.#hasLeft = true;
    if (this.#gate !== undefined) this.#options.gates.remove(this.#gate);
    this.#stream.return().then(
      () => {
        this.hasEnded = true;
      },
      (error: unknown) => {
        this.failure = error;
        this.hasEnded = true;
      },
    );
  }

  #take(result: IteratorResult<OmniMessage, void>): void {
    this.#isPending = false;
    if (result.done === true) {
      if (this.#hasLeft) return;
      this.isReadToEnd = true;
      this.hasEnded = true;
      return;
    }
    this.#options.log.add({ at: "showed", message: result.value });
    this.#options.onMessage(result.value);
    if (this.#hasLeft) return;
    if (this.isEager) return this.ask();
    const open = (): void => {
      this.#gate = undefined;
      this.ask();
    };
    this.#gate = { kind: "reader", label: "reader asks for the next message", open };
    this.#options.gates.add(this.#gate);
  }
}
