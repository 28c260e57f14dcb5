/** All rules that one reading of one life can check. */
import type { Violation } from "../life.ts";
import type { Observation } from "../observation.ts";
import { accounts } from "./accounts.ts";
import { brackets } from "./brackets.ts";
import { decisions } from "./decisions.ts";
import { ends } from "./ends.ts";
import { execution } from "./execution.ts";
import type { Invariant } from "./invariant.ts";
import { nothingLost } from "./nothing-lost.ts";
import { oneOrder } from "./one-order.ts";
import { pairing } from "./pairing.ts";
import { prefix } from "./prefix.ts";
import { replay } from "./replay.ts";
import { segments } from "./segments.ts";
import { workTold } from "./work-told.ts";

/** @param replayEvery So many records lie between two beginnings of a Trace that are read back. */
export function watchAll(replayEvery: number): (seen: Observation) => Violation | undefined {
  const invariants: readonly Invariant[] = [
    pairing,
    decisions,
    execution,
    workTold,
    nothingLost,
    segments,
    oneOrder,
    brackets,
    ends,
    accounts,
    prefix,
    replay(replayEvery),
  ];
  const watchers = invariants.map(({ name, watch }) => ({ name, watcher: watch() }));
  return (seen) => {
    for (const { name, watcher } of watchers) {
      const problem = watcher.see(seen);
      if (problem !== undefined) return { invariant: name, problem };
    }
    return undefined;
  };
}
