/**
 * Whether the disk is quick enough to be written to while everything else waits. Shared by the writers of a store, so
 * that a slow disk is tried by one of them at a time.
 */

/** A write that takes longer would be felt by every other Session of the process. */
const slowWriteMs = 5;
const firstPauseMs = 20;
const maxPauseMs = 10_000;

export class DiskPace {
  #slowUntilMs = Number.NEGATIVE_INFINITY;
  #pauseMs = firstPauseMs;

  /** @param nowMs Monotonic. */
  isSlow(nowMs: number): boolean {
    return nowMs < this.#slowUntilMs;
  }

  /** How long a write took that everything waited for. A busy machine is slow once, a slow disk time and again. */
  note(elapsedMs: number, nowMs: number): void {
    if (elapsedMs <= slowWriteMs) {
      this.#pauseMs = firstPauseMs;
      return;
    }
    this.#slowUntilMs = nowMs + this.#pauseMs;
    this.#pauseMs = Math.min(maxPauseMs, this.#pauseMs * 2);
  }
}
