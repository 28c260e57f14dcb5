import type { Clock } from "../../engine/ports.ts";
import type { ModelTimeLimits } from "../model-settings.ts";
import { ProviderFault } from "../fault/provider-fault.ts";

/** When the next limit is reached. The idle limit stands still while nobody reads. */
export class Deadlines {
  readonly #limits: ModelTimeLimits;
  readonly #clock: Clock;
  #startMs = 0;
  #fedMs = 0;
  #hasContent = false;
  #isPaused = false;

  constructor(limits: ModelTimeLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  start(): void {
    this.#startMs = this.#clock.now();
  }

  feed(): void {
    this.#hasContent = true;
    this.#fedMs = this.#clock.now();
  }

  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
    this.#fedMs = this.#clock.now();
  }

  nearest(): { waitMs: number; fault: ProviderFault } {
    const { totalMs, firstContentMs, idleMs } = this.#limits;
    const nowMs = this.#clock.now();
    const totalWaitMs = this.#startMs + totalMs - nowMs;
    const contentLimitMs = this.#hasContent ? idleMs : firstContentMs;
    const contentWaitMs = (this.#hasContent ? this.#fedMs : this.#startMs) + contentLimitMs - nowMs;
    if (this.#isPaused || totalWaitMs <= contentWaitMs) {
      return {
        waitMs: totalWaitMs,
        fault: new ProviderFault({ kind: "time_limit", limit: "total", limitMs: totalMs }),
      };
    }
    const limit = this.#hasContent ? "idle" : "first_content";
    return { waitMs: contentWaitMs, fault: new ProviderFault({ kind: "time_limit", limit, limitMs: contentLimitMs }) };
  }

  /** No longer than the idle limit, which may begin to count at any time; and within what timers can hold. */
  safeSleepMs(waitMs: number): number {
    return Math.min(waitMs, this.#limits.idleMs, 2 ** 31 - 1);
  }
}
