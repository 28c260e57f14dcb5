/** A Trace read back: the live engine's fold, over records of a file. */
import { createBuilders, type OmniMessage } from "@coxswain/protocol";
import { processExitedReason } from "./carry-over.ts";
import { Ledger } from "./ledger.ts";
import type { EngineState } from "./ports.ts";

/** @param messages Records of one model context, in order. Pure. */
export function replayTrace(messages: readonly OmniMessage[]): EngineState {
  return fold(messages).state();
}

/**
 * What a process that died could not write any more: the ends of what it had open, and an `abort` that says why. Empty
 * when nothing was under way, so that resuming twice writes it once.
 *
 * @param now Milliseconds since the epoch.
 */
export function missingRecords(messages: readonly OmniMessage[], now: () => number): OmniMessage[] {
  const { request, compaction, task } = fold(messages).unfinished();
  const build = createBuilders(now);
  const begun = messages.findLast((message) => message.payload.type === "compaction_begin")?.payload;
  const missing: OmniMessage[] = [];
  if (request) missing.push(build.requestEnd("aborted"));
  if (compaction && begun?.type === "compaction_begin") {
    missing.push(build.compactionEnd({ reason: begun.reason, mode: begun.mode, status: "failed" }));
  }
  if (task) missing.push(build.abortEvent(processExitedReason));
  return missing;
}

function fold(messages: readonly OmniMessage[]): Ledger {
  const ledger = new Ledger();
  for (const message of messages) ledger.apply(message);
  return ledger;
}
