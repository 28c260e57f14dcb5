/// <reference lib="es2024.string" />
/** What every text of a tool passes before anyone sees it: no secret, no lone surrogate, no NUL. */

const maskText = "[masked]";
const minSecretLength = 8;

interface Match {
  start: number;
  end: number;
}

/** Streaming: what is split across two pushes is treated as if it had come in one. */
export class TextGate {
  readonly #secrets: readonly string[];
  readonly #longest: number;
  #held = "";

  /** @param secrets Values to mask; those shorter than 8 characters are too common to be masked. */
  constructor(secrets: readonly string[]) {
    this.#secrets = usableSecrets(secrets);
    this.#longest = this.#secrets[0]?.length ?? 0;
  }

  /** What may go out now; the rest is held until it is known not to be the beginning of a secret. */
  push(text: string): string {
    const all = this.#held + text.replaceAll("\0", "");
    let out = "";
    let position = 0;
    for (;;) {
      const match = this.#nextMatch(all, position);
      const hold = this.#holdFrom(all, position);
      if (match !== undefined && match.start < hold) {
        out += all.slice(position, match.start) + maskText;
        position = match.end;
        continue;
      }
      this.#held = all.slice(hold);
      return (out + all.slice(position, hold)).toWellFormed();
    }
  }

  /** What was held: nothing more comes. */
  flush(): string {
    const rest = this.#held;
    this.#held = "";
    let out = "";
    let position = 0;
    for (let match = this.#nextMatch(rest, 0); match !== undefined; match = this.#nextMatch(rest, position)) {
      out += rest.slice(position, match.start) + maskText;
      position = match.end;
    }
    return (out + rest.slice(position)).toWellFormed();
  }

  #nextMatch(text: string, from: number): Match | undefined {
    let best: Match | undefined;
    for (const secret of this.#secrets) {
      const start = text.indexOf(secret, from);
      if (start >= 0 && (best === undefined || start < best.start)) best = { start, end: start + secret.length };
    }
    return best;
  }

  /** Index of the first unit that must wait for what follows; the length of the text when none must. */
  #holdFrom(text: string, from: number): number {
    for (let index = Math.max(from, text.length - this.#longest + 1); index < text.length; index++) {
      const rest = text.slice(index);
      if (this.#secrets.some((secret) => secret.length > rest.length && secret.startsWith(rest))) return index;
    }
    const last = text.length - 1;
    return last >= from && (text.charCodeAt(last) & 0xfc00) === 0xd800 ? last : text.length;
  }
}

/** The whole text at once. */
export function gateText(text: string, secrets: readonly string[]): string {
  const gate = new TextGate(secrets);
  return gate.push(text) + gate.flush();
}

/** Those long enough to be told from ordinary words, longest first. */
export function usableSecrets(secrets: readonly string[]): string[] {
  return [...new Set(secrets)].filter((secret) => secret.length >= minSecretLength).sort((a, b) => b.length - a.length);
}
