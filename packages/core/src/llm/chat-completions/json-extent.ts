/** Knows, while JSON text comes in pieces, whether its object or array has been closed. Looks at each character once. */

export class JsonExtent {
  #depth = 0;
  #hasOpened = false;
  #isInString = false;
  #isEscaped = false;

  get isClosed(): boolean {
    return this.#hasOpened && this.#depth === 0;
  }

  feed(piece: string): void {
    for (let index = 0; index < piece.length; index += 1) {
      const character = piece.charCodeAt(index);
      if (this.#isInString) this.#inString(character);
      else if (character === quote) this.#isInString = true;
      else if (character === openBrace || character === openBracket) {
        this.#depth += 1;
        this.#hasOpened = true;
      } else if (character === closeBrace || character === closeBracket) this.#depth -= 1;
    }
  }

  #inString(character: number): void {
    if (this.#isEscaped) this.#isEscaped = false;
    else if (character === backslash) this.#isEscaped = true;
    else if (character === quote) this.#isInString = false;
  }
}

const quote = 0x22;
const backslash = 0x5c;
const openBrace = 0x7b;
const closeBrace = 0x7d;
const openBracket = 0x5b;
const closeBracket = 0x5d;
