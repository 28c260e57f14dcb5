/** Steering: what a person says while a Task runs. */
export class Inbox {
  #texts: string[] = [];
  #open = false;

  open(): void {
    this.#texts = [];
    this.#open = true;
  }

  /** Whether the text will reach the model, unless the run is interrupted or fails first. */
  accept(text: string): boolean {
    if (!this.#open) return false;
    this.#texts.push(text);
    return true;
  }

  get isEmpty(): boolean {
    return this.#texts.length === 0;
  }

  /** In order of arrival; the caller delivers them. */
  drain(): string[] {
    return this.#texts.splice(0);
  }

  /** From now on nothing is accepted. Gives what was not delivered. */
  close(): string[] {
    this.#open = false;
    return this.#texts.splice(0);
  }
}
