/** Some lives are more than lived: their Trace is run through a new engine, which must write and send the same. */
import type { OmniMessage } from "@coxswain/core";
import { recordedContexts } from "../memory-trace.ts";
import { replay } from "../trace-replay/replay.ts";
import type { Violation } from "./life.ts";

/** Of so many seeds, one: a replay takes about half as long as the life. */
const playEvery = 5;
/**
 * Of later seeds, none. About one life in five hundred has a Trace that another life would have left too (a run without
 * input, steered before its first request, is the run before it going on); these seeds have none.
 */
const lastPlayed = 12_000;

export function isPlayed(seed: number): boolean {
  return seed % playEvery === 0 && seed <= lastPlayed;
}

/** `unplayable`: what came in one moment was in an order that no record tells of. */
export async function playAgain(
  contexts: readonly OmniMessage[][],
): Promise<{ outcome: "same" | "different" | "unplayable"; violation: Violation | undefined }> {
  const { outcome, obstacle = "", summary } = await replay(recordedContexts(contexts));
  if (outcome === "same" || obstacle.endsWith(momentWords)) return { outcome, violation: undefined };
  return { outcome, violation: { invariant: "replay", problem: `its Trace does not replay to the same: ${summary}` } };
}

const momentWords = "in the moment in which a policy refused a call";
