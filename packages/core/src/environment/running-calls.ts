/**
 * The calls of one Environment that run, and what stops them: their signal, their time-out, the end of the Environment.
 * One timer and one listener serve them all, since a moment may begin many.
 */
import type { Clock } from "../engine/ports.ts";
import { CallStop } from "./call-stop.ts";

interface RunningCall {
  readonly stop: CallStop;
  readonly signal: AbortSignal | undefined;
  /** By the clock. */
  readonly endMs: number;
}

interface Listening {
  calls: number;
  readonly listener: () => void;
}

const nobodyWaits = "no call waits any more";

export class RunningCalls {
  readonly #clock: Clock;
  readonly #running = new Set<RunningCall>();
  readonly #watched = new Set<RunningCall>();
  readonly #signals = new Map<AbortSignal, Listening>();
  #begun: RunningCall[] = [];
  #watchSoon: NodeJS.Immediate | undefined;
  #timer: { readonly atMs: number; readonly end: AbortController } | undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /**
   * Watching begins when everybody else has had a turn: a tool that is done by then, as most are that do not wait for
   * anything, costs neither a listener nor a timer.
   */
  begin(signal: AbortSignal | undefined, timeoutMs: number): CallStop {
    const stop = new CallStop(signal, () => this.#end(call));
    const call = { stop, signal, endMs: this.#clock.now() + timeoutMs };
    this.#running.add(call);
    this.#begun.push(call);
    this.#watchSoon ??= setImmediate(() => this.#watchBegun());
    return stop;
  }

  stopAll(): void {
    for (const { stop } of this.#running) stop.stop("interrupt");
  }

  #end(call: RunningCall): void {
    if (!this.#running.delete(call)) return;
    if (this.#running.size === 0) {
      clearImmediate(this.#watchSoon);
      this.#watchSoon = undefined;
      this.#begun = [];
    }
    if (!this.#watched.delete(call)) return;
    this.#leave(call.signal);
    if (this.#watched.size > 0) return;
    // With a reason of ours none is made up, which would cost more than all the rest.
    this.#timer?.end.abort(nobodyWaits);
    this.#timer = undefined;
  }

  #watchBegun(): void {
    this.#watchSoon = undefined;
    const begun = this.#begun;
    this.#begun = [];
    for (const call of begun) {
      if (!this.#running.has(call)) continue;
      if (call.signal?.aborted === true) call.stop.stop("interrupt");
      else if (call.endMs <= this.#clock.now()) call.stop.stop("timeout");
      this.#watched.add(call);
      this.#listen(call.signal);
      this.#wakeAt(call.endMs);
    }
  }

  #listen(signal: AbortSignal | undefined): void {
    if (signal === undefined) return;
    const known = this.#signals.get(signal);
    if (known !== undefined) {
      known.calls += 1;
      return;
    }
    const listener = (): void => {
      for (const call of this.#running) if (call.signal === signal) call.stop.stop("interrupt");
    };
    this.#signals.set(signal, { calls: 1, listener });
    signal.addEventListener("abort", listener);
  }

  #leave(signal: AbortSignal | undefined): void {
    const listening = signal && this.#signals.get(signal);
    if (signal === undefined || listening === undefined) return;
    listening.calls -= 1;
    if (listening.calls > 0) return;
    signal.removeEventListener("abort", listening.listener);
    this.#signals.delete(signal);
  }

  /** Sleeps until the earliest end of all. */
  #wakeAt(atMs: number): void {
    if (this.#timer !== undefined && this.#timer.atMs <= atMs) return;
    this.#timer?.end.abort(nobodyWaits);
    const timer = { atMs, end: new AbortController() };
    this.#timer = timer;
    void this.#clock.sleep(Math.max(0, atMs - this.#clock.now()), timer.end.signal).then(() => {
      if (this.#timer !== timer) return;
      this.#timer = undefined;
      this.#stopOverdue();
    });
  }

  #stopOverdue(): void {
    const nowMs = this.#clock.now();
    let nextMs = Number.POSITIVE_INFINITY;
    for (const { stop, endMs } of this.#watched) {
      if (endMs <= nowMs) stop.stop("timeout");
      else nextMs = Math.min(nextMs, endMs);
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#wakeAt(nextMs);
  }
}
