/** Lines as a person sees them at the end: what a carriage return or a backspace overwrote is gone. */

import { EditedText } from "./edited-text.ts";

/** A line longer than this is given out although its end is not known. */
const maxHeldLength = 64 * 1024;
/** Of a longer line that was given out nothing can be taken back by a backspace. */
const maxRecalledLength = 2000;

/** The unfinished line. */
interface Line {
  text: EditedText;
  /** What the reader has of it; `undefined` when that is no longer known. */
  given: string | undefined;
  /** A beginning was given out and is not kept: the text goes on from there. */
  goesOn: boolean;
  /** Begun anew, or taken back further than what had been given out. */
  isRewritten: boolean;
}

function emptyLine(): Line {
  return { text: new EditedText(), given: "", goesOn: false, isRewritten: false };
}

export class LineRewriter {
  #done = "";
  #line = emptyLine();
  #carriageReturn = false;

  get pendingLength(): number {
    return this.#done.length + this.unfinished.length;
  }

  /** The unfinished line as it stands, as far as it has not been given out. */
  get unfinished(): string {
    const { given } = this.#line;
    const text = this.#line.text.toString();
    return given !== undefined && text.startsWith(given) ? text.slice(given.length) : text;
  }

  push(text: string): void {
    const simple = !this.#carriageReturn && !text.includes("\r") && !text.includes("\b");
    if (simple) this.#pushSimple(text);
    else for (const piece of text.match(/[^\r\n\b]+|[\r\n\b]/g) ?? []) this.#pushPiece(piece);
    if (this.#line.text.length > maxHeldLength) this.#giveLine();
  }

  /** Finished lines. */
  takeLines(): string {
    const taken = this.#done;
    this.#done = "";
    return taken;
  }

  /** Finished lines and the unfinished one, unless it is being rewritten. */
  takeVisible(): string {
    if (!this.#line.isRewritten && !this.#carriageReturn) this.#giveLine();
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
      this.#line.text.append(text);
      return;
    }
    const firstEnd = text.indexOf("\n");
    this.#line.text.append(text.slice(0, firstEnd));
    this.#endLine();
    this.#done += text.slice(firstEnd + 1, end + 1);
    this.#line.text = new EditedText(text.slice(end + 1));
  }

  #pushPiece(piece: string): void {
    if (piece === "\n") {
      this.#endLine();
    } else if (piece === "\r") {
      this.#carriageReturn = true;
    } else if (piece === "\b") {
      if (!this.#carriageReturn) this.#takeBack();
    } else if (this.#carriageReturn) {
      this.#line.text = new EditedText(piece);
      this.#line.isRewritten = true;
      if (this.#line.goesOn) this.#line.given = undefined;
      this.#line.goesOn = false;
      this.#carriageReturn = false;
    } else {
      this.#line.text.append(piece);
    }
  }

  #takeBack(): void {
    const line = this.#line;
    line.text.takeBack();
    if (line.given !== undefined && line.text.length < line.given.length) line.isRewritten = true;
  }

  #endLine(): void {
    this.#giveLine();
    this.#done += "\n";
    this.#line = emptyLine();
    this.#carriageReturn = false;
  }

  /**
   * A carriage return in front tells the reader that what he has of this line is no more; backspaces take from him what
   * they count, where the line is empty or he has a beginning that is not kept here.
   */
  #giveLine(): void {
    const line = this.#line;
    const { given } = line;
    const text = line.text.toString();
    if (given !== undefined && text.startsWith(given)) this.#done += text.slice(given.length);
    else if (text !== "" && !line.goesOn) this.#done += `\r${text}`;
    else this.#done += "\b".repeat(Array.from(given ?? "").length) + text;
    line.given = text;
    line.isRewritten = false;
    if (text.length <= maxRecalledLength) return;
    line.text = new EditedText();
    line.given = "";
    line.goesOn = true;
  }
}
