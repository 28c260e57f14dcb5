/** The standard streams of this process, and what ends with them. */
import { systemClock } from "@coxswain/core";
import { Lifetime } from "./lifetime.ts";
import { OutputStream } from "./output/output-stream.ts";
import { Screen } from "./output/screen.ts";
import { jobControl } from "./typing/job-control.ts";
import { Keyboard } from "./typing/keyboard.ts";

export interface Terminal {
  lifetime: Lifetime;
  stdout: OutputStream;
  screen: Screen;
  stdin: NodeJS.ReadStream;
  /** The same, key by key. */
  keyboard: Keyboard;
  /** Somebody can be asked. */
  canAsk: boolean;
}

export function openTerminal(): Terminal {
  const lifetime = new Lifetime();
  const { signal } = lifetime;
  const stdout = new OutputStream({
    stream: process.stdout,
    signal,
    onError: (error) => {
      // A reader that has seen enough, such as `head`, is no fault.
      if (error.code === "EPIPE" || error.code === "EIO") lifetime.interrupt();
      else lifetime.fail(new Error(`standard output cannot be written (${error.code ?? error.message})`));
    },
  });
  const stderr = new OutputStream({ stream: process.stderr, signal, onError: () => undefined });
  const { stdin } = process;
  const screen = new Screen({ stdout, stderr, env: process.env });
  const keyboard = new Keyboard({ stdin, clock: systemClock, jobControl, interrupt: () => lifetime.interrupt() });
  // The last thing of all: until then nothing that is typed is left to the shell.
  lifetime.beforeEnd(async () => keyboard.close());
  return { lifetime, stdout, screen, stdin, keyboard, canAsk: stdin.isTTY === true && stderr.isTerminal };
}
