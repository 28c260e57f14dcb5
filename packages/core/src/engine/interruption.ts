import { setMaxListeners } from "node:events";
import { whenAborted } from "./shared-signal.ts";

/** One run's stop: by its signal, or because its reader left. Fires once. */
export class Interruption {
  readonly #controller = new AbortController();
  readonly #onFire = new Set<() => void>();
  readonly #letGo: (() => void) | undefined;
  #hasFired = false;

  constructor(signal?: AbortSignal) {
    // As many listen as tools run at once; that is no leak.
    setMaxListeners(0, this.#controller.signal);
    if (signal === undefined) return;
    if (signal.aborted) this.fire();
    else this.#letGo = whenAborted(signal, () => this.fire());
  }

  /** What the model and the tools get. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get fired(): boolean {
    return this.#hasFired;
  }

  fire(): void {
    if (this.#hasFired) return;
    this.#hasFired = true;
    this.#controller.abort();
    for (const notify of Array.from(this.#onFire)) notify();
    this.#onFire.clear();
  }

  /** Called when it fires; at once when it has. */
  onFire(notify: () => void): void {
    if (this.fired) notify();
    else this.#onFire.add(notify);
  }

  /** @throws Interrupted */
  check(): void {
    if (this.fired) throw new Interrupted();
  }

  /** The promise's value, or `Interrupted` as soon as the run is: nobody is waited for. */
  until<T>(promise: Promise<T>): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const notify = (): void => reject(new Interrupted());
      this.onFire(notify);
      promise.then(
        (value) => {
          this.#onFire.delete(notify);
          resolve(value);
        },
        (error: unknown) => {
          this.#onFire.delete(notify);
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      );
    });
  }

  /** Lets go of the outer signal. */
  dispose(): void {
    this.#letGo?.();
    this.#onFire.clear();
  }
}

/** Unwinds a Task to its one place that ends it. Never reaches a caller of the engine. */
export class Interrupted extends Error {
  override readonly name = "Interrupted";

  constructor() {
    super("the run was interrupted");
  }
}
