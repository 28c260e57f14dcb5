/** The wait before a reconnect: announced, on the injected clock, ended early by an interrupt or by a person. */
import type { Interruption } from "./interruption.ts";
import type { Clock } from "./ports.ts";

export class ReconnectWait {
  #current: AbortController | undefined;

  /** Whether a wait was going on. */
  skip(): boolean {
    if (this.#current === undefined) return false;
    this.#current.abort();
    this.#current = undefined;
    return true;
  }

  /** @throws Interrupted */
  async sleep(clock: Clock, ms: number, interruption: Interruption): Promise<void> {
    const controller = new AbortController();
    this.#current = controller;
    try {
      await interruption.until(clock.sleep(ms, controller.signal));
    } finally {
      // Ends the timer also when the interrupt came first.
      controller.abort("the wait is over");
      if (this.#current === controller) this.#current = undefined;
    }
  }
}
