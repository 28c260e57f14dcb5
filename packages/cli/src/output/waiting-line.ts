/** A line that counts seconds while nothing else is to be seen. */
import type { Screen } from "./screen.ts";

const secondMs = 1000;

export class WaitingLine {
  readonly #screen: Screen;
  #timer: NodeJS.Timeout | undefined;

  constructor(screen: Screen) {
    this.#screen = screen;
  }

  /** @param words What to show after so many seconds; `undefined`: nothing yet. */
  start(words: (seconds: number) => string | undefined): void {
    this.stop();
    let seconds = 0;
    const tick = (): void => {
      const text = words(seconds);
      seconds += 1;
      if (text !== undefined) void this.#screen.passing(text);
    };
    tick();
    this.#timer = setInterval(tick, secondMs);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}
