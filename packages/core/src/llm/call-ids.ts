/** Call ids that are unique in one answer or one model context, although providers repeat theirs or leave them out. */

export class CallIds {
  readonly #used = new Set<string>();
  /** Newest number given to each id of a provider; 1 is the bare id. */
  readonly #newestNumber = new Map<string, number>();

  /** The id itself the first time, `<id>~<n>` from then on; `call_<n>` for an empty one. */
  issue(providerId: string): string {
    const base = providerId === "" ? "call" : providerId;
    let number = this.#newestNumber.get(base) ?? 0;
    let id: string;
    do {
      number += 1;
      id = providerId === "" ? `call_${number}` : number === 1 ? base : `${base}~${number}`;
    } while (this.#used.has(id));
    this.#newestNumber.set(base, number);
    this.#used.add(id);
    return id;
  }

  /** An id that history holds. Its number goes on counting, also when the calls before it are not in history. */
  register(id: string): void {
    this.#used.add(id);
    const numbered = /^(.+)~(\d{1,9})$/s.exec(id);
    const base = numbered?.[1] ?? id;
    const number = Number(numbered?.[2] ?? 1);
    this.#newestNumber.set(base, Math.max(number, this.#newestNumber.get(base) ?? 0));
  }
}
