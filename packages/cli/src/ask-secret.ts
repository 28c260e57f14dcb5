/** Asks the person at the terminal for something that nobody else is to see. */
import type { Screen } from "./output/screen.ts";

export interface AskSecretOptions {
  screen: Screen;
  stdin: NodeJS.ReadStream;
  /** Nobody waits for an answer after it. */
  signal: AbortSignal;
  /** Ctrl-C arrives as a key. */
  interrupt(): void;
}

/** More than any key has. */
const maxLength = 8 * 1024;
const ctrlC = "\x03";
const ctrlD = "\x04";
const ctrlU = "\x15";
/** What a terminal may put around a pasted text. */
const pasteMarks = ["\x1b[200~", "\x1b[201~"];

/** What is typed until Enter, without showing it; empty after an interrupt. */
export async function askSecret(question: string, options: AskSecretOptions): Promise<string> {
  const { screen, stdin } = options;
  // Before the question is seen: an answer typed at once must not be echoed.
  stdin.setRawMode(true);
  await screen.line(question);
  return (await readUnseen(options)).trim();
}

/** Restores the terminal, whatever ends the wait. */
function readUnseen(options: AskSecretOptions): Promise<string> {
  const { stdin, signal } = options;
  return new Promise((resolve) => {
    let typed = "";
    const finish = (answer: string): void => {
      stdin.off("data", onData);
      stdin.off("end", onEnd);
      signal.removeEventListener("abort", onEnd);
      stdin.setRawMode(false);
      stdin.pause();
      resolve(answer);
    };
    const onEnd = (): void => finish(signal.aborted ? "" : typed);
    const onData = (bytes: Buffer): void => {
      for (const key of withoutMarks(bytes.toString("utf8"))) {
        if (key === ctrlC) {
          finish("");
          return options.interrupt();
        }
        if (key === "\r" || key === "\n" || key === ctrlD) return finish(typed);
        if (key === "\b" || key === "\x7f") typed = typed.slice(0, -1);
        else if (key === ctrlU) typed = "";
        else if (typed.length < maxLength) typed += key;
      }
    };
    stdin.on("data", onData);
    stdin.once("end", onEnd);
    signal.addEventListener("abort", onEnd);
    if (signal.aborted) onEnd();
    else stdin.resume();
  });
}

function withoutMarks(text: string): string {
  return pasteMarks.reduce((rest, mark) => rest.replaceAll(mark, ""), text);
}
