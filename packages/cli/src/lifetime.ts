/** From a command's start to its end, whatever ends it: nothing of ours runs on afterwards. */
import { setTimeout as delay } from "node:timers/promises";
import { exitCodes } from "./exit-code.ts";

/** What ends a process unless it is listened to. */
const endingSignals = ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR2", "SIGALRM"] as const;

/** Commands that do not listen are ended within 0.7 s; more time than this only a broken disk takes. */
const cleanUpLimitMs = 3000;
/** The longest that a timer can take. */
const longestMs = 2 ** 31 - 1;

export class Lifetime {
  readonly #interruption = new AbortController();
  readonly #cleanUps: (() => Promise<void>)[] = [];
  #endEarly: { resolve(code: number): void; reject(error: unknown): void } | undefined;

  /** Fires when the command is to end. */
  get signal(): AbortSignal {
    return this.#interruption.signal;
  }

  /** Ends what runs, in order; a second call no longer waits for it. */
  interrupt(): void {
    if (this.signal.aborted) this.#endEarly?.resolve(exitCodes.interrupted);
    this.#interruption.abort();
  }

  /** Ends the command with an error that nobody could catch. */
  fail(error: unknown): void {
    this.#endEarly?.reject(error);
    this.#interruption.abort();
  }

  /** The last one given is done first. */
  beforeEnd(cleanUp: () => Promise<void>): void {
    this.#cleanUps.unshift(cleanUp);
  }

  /** @returns The exit code: of the work, or of what ended it early. */
  async run(work: () => Promise<number>): Promise<number> {
    const onSignal = (): void => this.interrupt();
    const onError = (error: unknown): void => this.fail(error);
    const early = new Promise<number>((resolve, reject) => {
      this.#endEarly = { resolve, reject };
    });
    // Work that waits for what nobody can send is not done: without this the process would end, and say that it was.
    const held = setInterval(() => undefined, longestMs);
    for (const name of endingSignals) process.on(name, onSignal);
    process.on("uncaughtException", onError);
    process.on("unhandledRejection", onError);
    try {
      return await Promise.race([work(), early]);
    } finally {
      await this.#cleanUp();
      clearInterval(held);
      for (const name of endingSignals) process.off(name, onSignal);
      process.off("uncaughtException", onError);
      process.off("unhandledRejection", onError);
    }
  }

  async #cleanUp(): Promise<void> {
    const limit = new AbortController();
    const all = (async () => {
      for (const cleanUp of this.#cleanUps) await cleanUp();
    })();
    await Promise.race([all, delay(cleanUpLimitMs, undefined, { signal: limit.signal }).catch(() => undefined)]);
    limit.abort();
  }
}
