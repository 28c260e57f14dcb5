/** Time that goes on by steps of the schedule. A sleeper is woken when the schedule says so, never by itself. */
import type { Clock } from "@coxswain/core";

interface Sleeper {
  readonly untilMs: number;
  wake(): void;
}

export class VirtualClock implements Clock {
  #nowMs = Date.UTC(2026, 0, 1);
  #sleepers: Sleeper[] = [];

  now(): number {
    return this.#nowMs;
  }

  get sleepers(): number {
    return this.#sleepers.length;
  }

  /** A step has passed. */
  tick(): void {
    this.#nowMs += 1;
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        signal?.removeEventListener("abort", wake);
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        resolve();
      };
      const sleeper: Sleeper = { untilMs: this.#nowMs + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
    });
  }

  /** Wakes whose time comes next. */
  wakeNext(): void {
    const next = this.#sleepers.reduce<Sleeper | undefined>(
      (first, sleeper) => (first === undefined || sleeper.untilMs < first.untilMs ? sleeper : first),
      undefined,
    );
    if (next === undefined) return;
    this.#nowMs = Math.max(this.#nowMs, next.untilMs);
    next.wake();
  }

  /** The process that slept is dead. */
  forgetSleepers(): void {
    this.#sleepers = [];
  }
}
