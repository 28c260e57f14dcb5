/** What every text of a tool passes before anyone sees it: no secret, no lone surrogate, no NUL. */
import { mask, usableSecrets } from "../../shared/secrets.ts";

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
    const { masked, end, hold } = this.#maskIn(all, (from) => this.#holdFrom(all, from));
    this.#held = all.slice(hold);
    return (masked + all.slice(end, hold)).toWellFormed();
  }

  /** What was held: nothing more comes. */
  flush(): string {
    const all = this.#held;
    this.#held = "";
    const { masked, end } = this.#maskIn(all, () => all.length);
    return (masked + all.slice(end)).toWellFormed();
  }

  /** Masks the secrets that begin before what must wait: gives the text up to the end of the last one. */
  #maskIn(text: string, holdFrom: (from: number) => number): { masked: string; end: number; hold: number } {
    let hold = holdFrom(0);
    const next = this.#secrets.map((secret) => text.indexOf(secret));
    let masked = "";
    let end = 0;
    for (;;) {
      let first: Match | undefined;
      for (const [index, secret] of this.#secrets.entries()) {
        let start = next[index] ?? -1;
        // Each secret is looked for from where it was found last: one that is not there is looked for once.
        if (start >= 0 && start < end) next[index] = start = text.indexOf(secret, end);
        if (start >= 0 && (first === undefined || start < first.start)) first = { start, end: start + secret.length };
      }
      if (first === undefined || first.start >= hold) return { masked, end, hold };
      masked += text.slice(end, first.start) + mask;
      end = first.end;
      if (end > hold) hold = holdFrom(end);
    }
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
