/** Text that we did not write, made safe to print: control codes could move the cursor, or hide what is there. */

type State = "text" | "escape" | "csi" | "string" | "stringEscape";

/** A sequence that does not end is given up after so many characters. */
const maxSequenceLength = 256;
const everyControl = /[^\P{Cc}\n\t]/gu;
/** With those that turn the direction of what follows: words would stand in another order than they have. */
const control = /[\u202a-\u202e\u2066-\u2069]|[^\P{Cc}\n\t]/u;

/** Streaming: a sequence that is split across two texts is taken out as if it had come in one. */
export class ControlStripper {
  #state: State = "text";
  #length = 0;

  /** Line feed and tab are the only control characters that are left, and the text keeps its order. */
  push(text: string): string {
    if (this.#state === "text" && !control.test(text)) return text;
    let out = "";
    for (const character of text) out += this.#step(character);
    return out;
  }

  /** The next text has nothing to do with what came before. */
  reset(): void {
    this.#state = "text";
  }

  #step(character: string): string {
    if (this.#state === "text") return this.#inText(character);
    this.#length += 1;
    if (character === "\n" || this.#length > maxSequenceLength) return this.#leave(character);
    if (character === "\x1b") {
      this.#state = this.#state === "string" ? "stringEscape" : "escape";
      return "";
    }
    switch (this.#state) {
      case "escape":
        return this.#afterEscape(character);
      case "csi":
        if (character >= " " && character <= "?") return "";
        this.#state = "text";
        return character >= "@" && character <= "~" ? "" : this.#inText(character);
      case "string":
        if (character === "\x07" || character === "\x9c") this.#state = "text";
        return "";
      case "stringEscape":
        return this.#afterEscape(character);
    }
  }

  #inText(character: string): string {
    if (!control.test(character)) return character;
    this.#length = 0;
    if (character === "\x1b") this.#state = "escape";
    else if (character === "\x9b") this.#state = "csi";
    else if (character === "\x90" || character === "\x98" || (character >= "\x9d" && character <= "\x9f")) {
      this.#state = "string";
    }
    return "";
  }

  #leave(character: string): string {
    this.#state = "text";
    return this.#inText(character);
  }

  #afterEscape(character: string): string {
    if (character === "[") this.#state = "csi";
    else if ("]PX^_".includes(character)) this.#state = "string";
    else if (character >= " " && character <= "/") this.#state = "escape";
    else return character >= "0" && character <= "~" ? this.#end() : this.#leave(character);
    return "";
  }

  #end(): string {
    this.#state = "text";
    return "";
  }
}

/** The whole text at once. */
export function stripControls(text: string): string {
  return new ControlStripper().push(text);
}

/** For messages: no control codes, one line. */
export function inOneLine(text: string): string {
  return stripControls(text).replace(/\s+/g, " ").trim();
}

// Direction marks and characters that nobody sees, in which a text can stand that only a model reads. What makes an
// emoji of the character in front of it is none.
const deceptive =
  /(?!(?<=\p{Extended_Pictographic})\ufe0f)[\p{Default_Ignorable_Code_Point}\u2028\u2029\u2800\ufff9-\ufffb]/gu;

/** For decisions: what would be hidden is shown as an escape, so that nothing is approved unseen. */
export function showHidden(text: string): string {
  return text.replace(/\r\n/g, "\n").replace(everyControl, escaped).replace(deceptive, escaped);
}

function escaped(character: string): string {
  const digits = (character.codePointAt(0) ?? 0).toString(16);
  return digits.length > 4 ? `\\u{${digits}}` : `\\u${digits.padStart(4, "0")}`;
}

/** JSON in which no character can act on a terminal; it parses to the same value. */
export function jsonLine(value: unknown): string {
  return JSON.stringify(value).replace(/[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g, escaped);
}

/** At most `length` characters; never half a character at the end. */
export function cut(text: string, length: number): string {
  if (text.length <= length) return text;
  return `${text.slice(0, Math.max(0, length - 1)).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** A label and words, so that no line is longer than the terminal is wide; what goes on stands below the words. */
export function labelled(label: string, words: string, columns: number): string[] {
  const lines: string[] = [];
  let line = label;
  for (const word of words.split(" ")) {
    const isFull = line.length + 1 + word.length > columns && line.trim() !== "" && line !== label;
    if (isFull) lines.push(line);
    line = isFull ? `${" ".repeat(label.length)} ${word}` : `${line} ${word}`;
  }
  return [...lines, line];
}
