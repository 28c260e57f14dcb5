/** Takes terminal control out of text, also when a sequence is split across reads. */

type State = "text" | "escape" | "intermediate" | "csi" | "string" | "stringEscape";

/** A control string that does not end is given up; so are its contents. */
const maxSequenceLength = 8192;
/** Control characters, but for tab, line feed, carriage return and backspace. */
const control = /[^\P{Cc}\t\n\r\b]/u;

export class EscapeStripper {
  #state: State = "text";
  #sequence = "";
  #length = 0;

  /** Of the control characters only tab, line feed, carriage return and backspace are left. */
  push(text: string): string {
    if (this.#state === "text" && !control.test(text)) return text;
    let out = "";
    let index = 0;
    while (index < text.length) {
      if (this.#state === "text") {
        const rest = text.slice(index);
        const next = rest.search(control);
        if (next < 0) return out + rest;
        out += rest.slice(0, next);
        index += next + 1;
        this.#begin(rest.charCodeAt(next));
      } else {
        const taken = this.#step(text[index] ?? "");
        if (taken === undefined) continue;
        out += taken;
        index++;
      }
    }
    return out;
  }

  #begin(code: number): void {
    this.#sequence = "";
    this.#length = 0;
    if (code === 0x1b) this.#state = "escape";
    else if (code === 0x9b) this.#state = "csi";
    else if (code === 0x90 || code === 0x98 || (code >= 0x9d && code <= 0x9f)) this.#state = "string";
  }

  /** What one character within a sequence gives; `undefined` when it does not belong to the sequence. */
  #step(character: string): string | undefined {
    if (++this.#length > maxSequenceLength || character === "\x18" || character === "\x1a") {
      this.#state = "text";
      return "";
    }
    switch (this.#state) {
      case "escape":
        return this.#afterEscape(character);
      case "intermediate":
        if (character >= " " && character <= "/") return "";
        this.#state = "text";
        return character >= "0" && character <= "~" ? "" : undefined;
      case "csi":
        return this.#inCsi(character);
      case "string":
        if (character === "\x1b") this.#state = "stringEscape";
        else if (character === "\x07" || character === "\x9c") this.#state = "text";
        else if (character === "\n") return this.#leave();
        return "";
      case "stringEscape":
        if (character !== "\\") return this.#afterEscape(character);
        this.#state = "text";
        return "";
      default:
        return undefined;
    }
  }

  #leave(): undefined {
    this.#state = "text";
    return undefined;
  }

  #afterEscape(character: string): string | undefined {
    if (character === "[") this.#state = "csi";
    else if ("]PX^_".includes(character)) this.#state = "string";
    else if (character >= " " && character <= "/") this.#state = "intermediate";
    else if (character === "\x1b") this.#state = "escape";
    else {
      this.#state = "text";
      return character >= "0" && character <= "~" ? "" : undefined;
    }
    return "";
  }

  #inCsi(character: string): string | undefined {
    if (character >= " " && character <= "?") {
      this.#sequence += character;
      return "";
    }
    this.#state = "text";
    if (character < "@" || character > "~") return undefined;
    // The whole line erased, or the cursor to its first column: what follows overwrites the line.
    const overwrites =
      (character === "K" && this.#sequence === "2") || (character === "G" && /^1?$/.test(this.#sequence));
    return overwrites ? "\r" : "";
  }
}
