/** A text that is changed at its end: as cheaply however long it is. */

const tailLength = 1024;

export class EditedText {
  #head: string;
  /** Nearly all changes are in here; the whole would be copied for each. */
  #tail = "";

  constructor(text = "") {
    this.#head = text;
  }

  get length(): number {
    return this.#head.length + this.#tail.length;
  }

  toString(): string {
    return this.#head + this.#tail;
  }

  append(text: string): void {
    this.#tail += text;
    if (this.#tail.length <= tailLength) return;
    this.#head += this.#tail;
    this.#tail = "";
  }

  /** The last character, which may be a pair of units. */
  takeBack(): void {
    if (this.#tail.length < 2 && this.#head !== "") {
      this.#tail = this.#head.slice(-tailLength) + this.#tail;
      this.#head = this.#head.slice(0, -tailLength);
    }
    const isPair = /[\uD800-\uDBFF][\uDC00-\uDFFF]$/.test(this.#tail.slice(-2));
    this.#tail = this.#tail.slice(0, isPair ? -2 : -1);
  }
}
