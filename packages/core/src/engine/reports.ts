/** What background work has reported, until the model is told. */
import type { BackgroundReport } from "./ports.ts";

export class Reports {
  #waiting: BackgroundReport[] = [];
  /** How many of those that wait, from the first on, the host has been told of. */
  #told = 0;

  add(report: BackgroundReport): void {
    this.#waiting.push(report);
  }

  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** In order of arrival; the caller delivers them to the model. */
  drain(): BackgroundReport[] {
    this.#told = 0;
    return this.#waiting.splice(0);
  }

  /** Those that the host has not been told of; from now on it has. */
  untold(): BackgroundReport[] {
    const untold = this.#waiting.slice(this.#told);
    this.#told = this.#waiting.length;
    return untold;
  }
}
