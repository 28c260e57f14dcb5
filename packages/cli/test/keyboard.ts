import { PassThrough } from "node:stream";
import type { ReadStream } from "node:tty";
import { ManualClock } from "@coxswain/testing";
import { Keyboard } from "../src/typing/keyboard.ts";

/** A terminal's input: what a test types arrives as it would in raw mode. */
class Keys extends PassThrough {
  readonly isTTY = true;
  readonly modes: boolean[] = [];
  #typed: (() => void) | undefined;

  setRawMode(isRaw: boolean): this {
    this.modes.push(isRaw);
    if (isRaw) this.#typed?.();
    return this;
  }

  /** Types once somebody listens, and resolves when it has been read. */
  async type(text: string): Promise<void> {
    if (this.modes.at(-1) !== true) await new Promise<void>((resolve) => (this.#typed = resolve));
    this.write(text);
    await turnsOfTheEventLoop(3);
  }
}

export async function turnsOfTheEventLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

export function createKeyboard() {
  const keys = new Keys();
  const clock = new ManualClock();
  const controller = new AbortController();
  const jobControl = {
    hasTerminal: true,
    suspended: 0,
    isInForeground: (): boolean => jobControl.hasTerminal,
    suspend: (): void => void (jobControl.suspended += 1),
  };
  const interrupt = (): void => controller.abort();
  const keyboard = new Keyboard({ stdin: keys as unknown as ReadStream, clock, jobControl, interrupt });
  return { keys, clock, controller, jobControl, keyboard };
}
