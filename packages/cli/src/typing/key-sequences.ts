/** Keys that are no text: arrows, function keys, Alt with another key, the marks around a paste. */

const escape = "\x1b";
/** The marks of a paste, most keys, and F1 to F4 of the Linux console. */
const csi = String.raw`(?:${escape}{1,2}\[|\x9b)\[?[ -?]{0,64}`;
/** F1 to F4, and a keypad. */
const ss3 = String.raw`${escape}{1,2}O[\d;]{0,8}`;
/** A title or a link in what is pasted. */
const string = String.raw`${escape}[\]PX^_][^\p{Cc}]{0,256}(?:\x07|${escape}\\)`;
const escapeOrAlt = String.raw`${escape}[^\p{Cc}]?`;

const sequence = new RegExp(String.raw`${csi}[@-~]?|${ss3}[^\d;\p{Cc}]|${string}|${escapeOrAlt}`, "gu");
/** One that is cut off, so that its rest is yet to come. */
const beginning = new RegExp(`(?:${csi}|${ss3}|${escape}{1,2})$`, "u");
/** Escape, or Alt with one key: whole, although more could follow. */
const alone = new RegExp(`^${escape}?${escapeOrAlt}$`, "u");

export class KeySequences {
  #begun = "";

  /** @returns What was typed, without them. One that comes in pieces is taken out as if it had come in one. */
  text(keys: string): string {
    // Most of what is cut off is a key by itself: to wait for its rest would swallow what is typed next.
    if (this.#begun === "" && alone.test(keys)) return "";
    const all = this.#begun + keys;
    this.#begun = beginning.exec(all)?.[0] ?? "";
    return all.slice(0, all.length - this.#begun.length).replace(sequence, "");
  }

  /** What comes next has nothing to do with what came before. */
  reset(): void {
    this.#begun = "";
  }
}
