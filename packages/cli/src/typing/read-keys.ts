/** Reads keys until they are an answer. */
import type { Keyboard } from "./keyboard.ts";

export interface KeyQuestion<T> {
  keyboard: Keyboard;
  /** Nobody waits for an answer after it. */
  signal: AbortSignal;
  /** Answers, now or later, once what was typed is an answer. */
  keys: (text: string, answer: (value: T) => void) => void;
  /** The answer of somebody who says nothing more. */
  otherwise: () => T;
}

export function readKeys<T>({ keyboard, signal, keys, otherwise }: KeyQuestion<T>): Promise<T> {
  return new Promise((resolve) => {
    const answer = (value: T): void => {
      signal.removeEventListener("abort", onEnd);
      stop();
      resolve(value);
    };
    const onEnd = (): void => answer(otherwise());
    const stop = keyboard.listen({ keys: (text) => keys(text, answer), end: onEnd, isQuestion: true });
    signal.addEventListener("abort", onEnd);
    if (signal.aborted || keyboard.isOver) onEnd();
  });
}
