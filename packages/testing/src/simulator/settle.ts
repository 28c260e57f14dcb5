/** Letting the engine do all that it can do without anybody else. */
import { eventLoopTurn } from "../event-loop.ts";

/** The engine itself takes a turn of the event loop here and there; what it had begun before is over after two. */
export async function settle(turns = 2): Promise<void> {
  for (let turn = 0; turn < turns; turn += 1) await eventLoopTurn();
}
