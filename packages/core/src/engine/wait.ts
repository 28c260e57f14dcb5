/** The wait before a reconnect: announced, on the injected clock, ended early by an interrupt or by a person. */
import type { Interruption } from "./interruption.ts";
import type { Clock } from "./ports.ts";

export class ReconnectWait {
  #current: AbortController | undefined;

  /** From now on it can be skipped: before anybody is told of it, who might do so at once. */
  announce(interruption: Interruption): void {
    const controller = new AbortController();
    this.#current = controller;
    interruption.onFire(() => this.#end(controller));
  }

  /** Whether there was one to skip. */
  skip(): boolean {
    const current = this.#current;
    if (current === undefined || current.signal.aborted) return false;
    current.abort("a person did not want to wait");
    return true;
  }

  /** Sleeps what was announced. @throws Interrupted */
  async sleep(clock: Clock, ms: number, interruption: Interruption): Promise<void> {
    const controller = this.#current ?? new AbortController();
    try {
      interruption.check();
      if (!controller.signal.aborted) await interruption.until(clock.sleep(ms, controller.signal));
    } finally {
      // Ends the timer also when the interrupt came first.
      controller.abort("the wait is over");
      this.#end(controller);
    }
  }

  #end(controller: AbortController): void {
    if (this.#current === controller) this.#current = undefined;
  }
}
