/** Lines as a person sees them at the end: what a carriage return or a backspace overwrote is gone. */

/** A line longer than this is given out although its end is not known. */
const maxHeldLength = 64 * 1024;

export class LineRewriter {
  #done = "";
  /** The unfinished line, as far as it has not been given out. */
  #line = "";
  /** A part of the unfinished line has been given out. */
  #lineGiven = false;
  /** The unfinished line has been begun anew. */
  #rewritten = false;
  #carriageReturn = false;

  get pendingLength(): number {
    return this.#done.length + this.#line.length;
  }

  /** The unfinished line as it stands, as far as it has not been given out. */
  get unfinished(): string {
    return this.#line;
  }

  push(text: string): void {
    const simple = !this.#carriageReturn && !text.includes("\r") && !text.includes("\b");
    if (simple) this.#pushSimple(text);
    else for (const piece of text.match(/[^\r\n\b]+|[\r\n\b]/g) ?? []) this.#pushPiece(piece);
    if (this.#line.length > maxHeldLength) this.#giveLine();
  }

  /** Finished lines. */
  takeLines(): string {
    const taken = this.#done;
    this.#done = "";
    return taken;
  }

  /** Finished lines and the unfinished one, unless it is being rewritten. */
  takeVisible(): string {
    if (!this.#rewritten && !this.#carriageReturn) this.#giveLine();
    return this.takeLines();
  }

  /** Everything: nothing more comes. */
  takeAll(): string {
    this.#giveLine();
    return this.takeLines();
  }

  #pushSimple(text: string): void {
    const end = text.lastIndexOf("\n");
    if (end < 0) {
      this.#line += text;
      return;
    }
    const firstEnd = text.indexOf("\n");
    this.#line += text.slice(0, firstEnd);
    this.#endLine();
    this.#done += text.slice(firstEnd + 1, end + 1);
    this.#line = text.slice(end + 1);
  }

  #pushPiece(piece: string): void {
    if (piece === "\n") {
      this.#endLine();
    } else if (piece === "\r") {
      this.#carriageReturn = true;
    } else if (piece === "\b") {
      this.#line = this.#line.replace(/[\uD800-\uDBFF][\uDC00-\uDFFF]$|.$/s, "");
    } else if (this.#carriageReturn) {
      this.#line = piece;
      this.#rewritten = true;
      this.#carriageReturn = false;
    } else {
      this.#line += piece;
    }
  }

  #endLine(): void {
    this.#giveLine();
    this.#done += "\n";
    this.#lineGiven = false;
    this.#carriageReturn = false;
  }

  /** A carriage return in front tells the reader that what he has of this line is no more. */
  #giveLine(): void {
    if (this.#line !== "") {
      this.#done += this.#lineGiven && this.#rewritten ? `\r${this.#line}` : this.#line;
      this.#lineGiven = true;
    }
    this.#line = "";
    this.#rewritten = false;
  }
}
