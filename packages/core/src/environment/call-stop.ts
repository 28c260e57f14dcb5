/** Why a call is told to stop, and how long it is then waited for. */
import type { Clock } from "../engine/ports.ts";

export type StopCause = "interrupt" | "timeout";

/**
 * What a tool may take to settle after its signal. Real time: it is for processes of the machine, which know no other
 * clock, and must not depend on a clock that a test stops.
 */
const settleMs = 400;

const settledReason = "the call is over";

/** Fires once, for the first cause. */
export class CallStop {
  /** Made when somebody listens: most tools are done before they would. */
  #controller: AbortController | undefined;
  readonly #signal: AbortSignal | undefined;
  #watch: NodeJS.Immediate | undefined;
  /** Ends the wait for the time-out. */
  #timeout: AbortController | undefined;
  #cause: StopCause | undefined;
  #settleTimer: NodeJS.Timeout | undefined;
  #settleOver = false;
  #onSettleOver: (() => void) | undefined;
  #finished = false;

  constructor(signal: AbortSignal | undefined) {
    this.#signal = signal;
    if (signal?.aborted) this.stop("interrupt");
  }

  /**
   * Watches the signal and the time. Begins when everybody else has had a turn: a tool that is done by then, as most are
   * that do not wait for anything, costs neither a listener nor a timer.
   */
  watch(clock: Clock, timeoutMs: number): void {
    const endMs = clock.now() + timeoutMs;
    this.#watch = setImmediate(() => {
      if (this.#signal?.aborted) return this.stop("interrupt");
      const leftMs = endMs - clock.now();
      if (leftMs <= 0) return this.stop("timeout");
      this.#signal?.addEventListener("abort", this.#onInterrupt);
      const timeout = new AbortController();
      this.#timeout = timeout;
      void clock.sleep(leftMs, timeout.signal).then(() => {
        if (!timeout.signal.aborted) this.stop("timeout");
      });
    });
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
  async settled<T>(promise: PromiseLike<T>): Promise<{ value: T } | undefined> {
    if (this.#settleOver) return undefined;
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
    clearImmediate(this.#watch);
    // With a reason of ours none is made up, which would cost more than all the rest.
    this.#timeout?.abort(settledReason);
    this.#signal?.removeEventListener("abort", this.#onInterrupt);
  }

  readonly #onInterrupt = (): void => this.stop("interrupt");
}

function stopError(cause: StopCause): Error {
  return new Error(cause === "timeout" ? "The call timed out." : "The call was interrupted.");
}
