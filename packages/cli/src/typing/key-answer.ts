/** Which key is an answer: one that was pressed by itself, by somebody who could have read the question. */
import type { Clock } from "@coxswain/core";

/** How long nothing may have been typed, or the question not been there, before a key that counts. */
const quietBeforeMs = 500;
/** The same for somebody who is typing something else. */
const quietAfterTypingMs = 1000;
/** What is typed sooner than that belongs to the same words. */
const quietAfterMs = 300;
const maxLength = 20;

export interface KeyAnswerOptions<T> {
  clock: Clock;
  /** When a key was pressed before the question was there. */
  lastKeyAtMs: number;
  /** @param isEntered Enter has ended it. */
  read(words: string, isEntered: boolean): T | undefined;
  /** Something was typed that is no answer. */
  onOther(): void;
}

/** From the moment when the question can be read. */
export class KeyAnswer<T> {
  readonly #options: KeyAnswerOptions<T>;
  #lastAtMs: number;
  #quietMs: number;
  #words = "";
  /** What is typed now has begun too soon. */
  #isIgnored = false;
  #pause = new AbortController();

  constructor(options: KeyAnswerOptions<T>) {
    this.#options = options;
    this.#lastAtMs = options.clock.now();
    const isTyping = this.#lastAtMs - options.lastKeyAtMs < 2 * quietAfterTypingMs;
    this.#quietMs = isTyping ? quietAfterTypingMs : quietBeforeMs;
  }

  keys(text: string, answer: (value: T) => void): void {
    const { clock } = this.#options;
    const nowMs = clock.now();
    // A clock that was set back gives no time to anybody.
    if (this.#words === "") this.#isIgnored = !(nowMs - this.#lastAtMs >= this.#quietMs);
    this.#lastAtMs = nowMs;
    this.#words = (this.#words + text).slice(0, maxLength);
    this.stop();
    if (/[\r\n]$/.test(text)) return this.#settle(true, answer);
    this.#pause = new AbortController();
    const { signal } = this.#pause;
    void clock.sleep(quietAfterMs, signal).then(() => {
      if (!signal.aborted) this.#settle(false, answer);
    });
  }

  /** Nothing is waited for any more. */
  stop(): void {
    this.#pause.abort();
  }

  #settle(isEntered: boolean, answer: (value: T) => void): void {
    const words = this.#words.trim().toLowerCase();
    const isTooLong = this.#words.length >= maxLength;
    const value = this.#isIgnored || isTooLong ? undefined : this.#options.read(words, isEntered);
    this.#words = "";
    if (value !== undefined) return answer(value);
    this.#quietMs = quietAfterTypingMs;
    this.#options.onOther();
  }
}
