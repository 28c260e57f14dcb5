/** Asks the person at the terminal for something that nobody else is to see. */
import type { Screen } from "./output/screen.ts";
import type { Keyboard } from "./typing/keyboard.ts";
import { readKeys } from "./typing/read-keys.ts";
import { TypedLine } from "./typing/typed-line.ts";

export interface AskSecretOptions {
  screen: Screen;
  keyboard: Keyboard;
  /** Nobody waits for an answer after it. */
  signal: AbortSignal;
}

/** More than any key has. */
const maxLength = 8 * 1024;

/** What is typed until Enter, without showing it; empty after an interrupt. */
export async function askSecret(question: string, { screen, keyboard, signal }: AskSecretOptions): Promise<string> {
  const line = new TypedLine(maxLength);
  let entered: string | undefined;
  const type = (text: string): void => {
    entered ??= line.type(text)[0];
  };
  // Before the question is seen: an answer typed at once must not be echoed.
  const stop = keyboard.listen({ keys: type });
  try {
    await screen.line(question);
    if (entered !== undefined) return entered.trim();
    const answer = await readKeys<string>({
      keyboard,
      signal,
      keys: (text, done) => {
        type(text);
        if (entered !== undefined) done(entered);
      },
      otherwise: () => (signal.aborted ? "" : line.text),
    });
    return answer.trim();
  } finally {
    stop();
  }
}
