/** When a context must shrink, and whether it can. Pure. */
import type { CompactionReason } from "@coxswain/protocol";
import type { Ledger } from "./ledger.ts";
import type { CompactionSettings } from "./ports.ts";

export type Compactability = "ok" | "unsupported" | "empty" | "just_compacted";

/** A context that begins at the threshold is compacted again only once it has grown by this factor. */
const growthBeforeAnother = 1.25;

type Counters = Pick<
  Ledger,
  "lastRequestTotal" | "firstRequestTotal" | "sessionTurns" | "fromCompaction" | "hasCommittedTurns"
>;

export function compactability(counters: Counters, isSupported: boolean): Compactability {
  if (!isSupported) return "unsupported";
  if (counters.fromCompaction) return "just_compacted";
  return counters.hasCommittedTurns ? "ok" : "empty";
}

/** `off`: due by its size, but compacting has just been tried and did not help. */
export function dueCompaction(counters: Counters, settings: CompactionSettings): CompactionReason | "off" | undefined {
  const { maxContextLength, maxSessionTurns } = settings;
  if (maxSessionTurns > 0 && counters.sessionTurns >= maxSessionTurns) return "turns";
  if (maxContextLength <= 0 || counters.lastRequestTotal < maxContextLength) return undefined;
  const first = counters.firstRequestTotal;
  const didNotHelp = first !== undefined && first >= maxContextLength;
  return didNotHelp && counters.lastRequestTotal < first * growthBeforeAnother ? "off" : "context";
}
