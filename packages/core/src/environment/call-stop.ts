/** Why a call is told to stop, and how long it is then waited for. */
export type StopCause = "interrupt" | "timeout";

/**
 * What a tool may take to settle after its signal. Real time: it is for processes of the machine, which know no other
 * clock, and must not depend on a clock that a test stops.
 */
const settleMs = 400;

/** Fires once, for the first cause. */
export class CallStop {
  /** Made when somebody listens: most tools are done before they would. */
  #controller: AbortController | undefined;
  readonly #signal: AbortSignal | undefined;
  readonly #onOver: () => void;
  #cause: StopCause | undefined;
  #settleTimer: NodeJS.Timeout | undefined;
  #settleOver = false;
  #onSettleOver: (() => void) | undefined;
  #finished = false;

  /** @param onOver Called once the call is over, maybe more than once. */
  constructor(signal: AbortSignal | undefined, onOver: () => void) {
    this.#signal = signal;
    this.#onOver = onOver;
    if (signal?.aborted) this.stop("interrupt");
  }

  /** For the tool. */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#cause !== undefined) this.#controller.abort(stopError(this.#cause));
    }
    return this.#controller.signal;
  }

  get cause(): StopCause | undefined {
    if (this.#signal?.aborted === true) this.stop("interrupt");
    return this.#cause;
  }

  stop(cause: StopCause): void {
    if (this.#cause !== undefined || this.#finished) return;
    this.#cause = cause;
    this.#settleTimer = setTimeout(() => {
      this.#settleOver = true;
      this.#onSettleOver?.();
    }, settleMs);
    this.#controller?.abort(stopError(cause));
  }

  /** What the promise gives, or `undefined` when the tool was told to stop and did not settle. One at a time. */
  settled<T>(promise: PromiseLike<T>): Promise<{ value: T } | undefined> {
    if (this.#settleOver) return Promise.resolve(undefined);
    return new Promise((resolve, reject) => {
      this.#onSettleOver = () => resolve(undefined);
      promise.then((value) => resolve({ value }), reject);
    });
  }

  /** The tool is done: its signal fires no more. */
  finish(): void {
    this.#finished = true;
    this.close();
  }

  /** Nothing of this call is left waiting; a tool that is not done (its reader left early) is told to stop. */
  close(): void {
    this.stop("interrupt");
    clearTimeout(this.#settleTimer);
    this.#onOver();
  }
}

function stopError(cause: StopCause): Error {
  return new Error(cause === "timeout" ? "The call timed out." : "The call was interrupted.");
}
