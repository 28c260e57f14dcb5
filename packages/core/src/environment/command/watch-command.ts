import type { Clock } from "../../engine/ports.ts";
import type { Command } from "./command.ts";

export interface WatchEnd {
  clock: Clock;
  /** `undefined`: until the command ends. 0: no longer than for what is there. */
  waitMs?: number | undefined;
  /** The call has watched before: what is unread has been shown. Default false. */
  isAgain?: boolean;
  /** Of the call that watches. */
  signal: AbortSignal;
  /** How long the end of the command is still waited for after the signal: real time, as for processes. Default 0. */
  graceMs?: number;
}

/** Gives what a command prints, until it has ended, the time is up or the call is stopped. */
export async function* watchCommand(command: Command, end: WatchEnd): AsyncGenerator<string, void> {
  const feed = command.transcript.watch(end.isAgain);
  const over = new AbortController();
  let graceTimer: NodeJS.Timeout | undefined;
  const leave = (): void => feed.close();
  const stopped = (): void => {
    if (end.graceMs === undefined) leave();
    else graceTimer = setTimeout(leave, end.graceMs);
  };
  end.signal.addEventListener("abort", stopped);
  if (end.signal.aborted) stopped();
  if (end.waitMs === 0) leave();
  else if (end.waitMs !== undefined) void end.clock.sleep(end.waitMs, over.signal).then(leave);
  try {
    for (let text = await feed.next(); text !== undefined; text = await feed.next()) yield text;
  } finally {
    over.abort();
    clearTimeout(graceTimer);
    end.signal.removeEventListener("abort", stopped);
    leave();
  }
}
