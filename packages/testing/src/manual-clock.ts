import type { Clock } from "@coxswain/core";

interface Sleeper {
  readonly untilMs: number;
  readonly ms: number;
  wake(): void;
}

/** Time that stands still until it is told to go on. */
export class ManualClock implements Clock {
  #nowMs: number;
  #sleepers: Sleeper[] = [];
  #arrivals: (() => void)[] = [];

  /** @param startMs Milliseconds since the epoch. */
  constructor(startMs: number = Date.UTC(2026, 0, 1)) {
    this.#nowMs = startMs;
  }

  now(): number {
    return this.#nowMs;
  }

  /** What everybody who sleeps now has asked for, in milliseconds. */
  get sleeping(): number[] {
    return this.#sleepers.map((sleeper) => sleeper.ms);
  }

  sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = (): void => {
        signal?.removeEventListener("abort", wake);
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        resolve();
      };
      const sleeper: Sleeper = { untilMs: this.#nowMs + ms, ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener("abort", wake, { once: true });
      for (const arrive of this.#arrivals.splice(0)) arrive();
    });
  }

  /** Resolves with the wait of the next one who begins to sleep; at once if somebody sleeps already. */
  async nextSleep(): Promise<number> {
    if (this.#sleepers.length === 0) await new Promise<void>((resolve) => this.#arrivals.push(resolve));
    return this.#sleepers[0]?.ms ?? 0;
  }

  /** Wakes, in order, everybody whose time has come. */
  advance(ms: number): void {
    const end = this.#nowMs + ms;
    for (;;) {
      const due = this.#sleepers.filter((sleeper) => sleeper.untilMs <= end).sort((a, b) => a.untilMs - b.untilMs)[0];
      if (due === undefined) break;
      this.#nowMs = due.untilMs;
      due.wake();
    }
    this.#nowMs = end;
  }
}
