/** That nothing was lost: what was seen, what is on disk and what reached the model, side by side. */
import type { Arrivals } from "./arrivals.ts";
import { differences, type Tally } from "./tally.ts";

export interface Counted {
  what: string;
  seen: number;
  recorded: number;
  reachedModel: number;
}

export interface Witnesses {
  seen: Tally;
  recorded: Tally;
  arrivals: Arrivals;
  steersAccepted: number;
}

export function countedThrice({ seen, recorded, arrivals, steersAccepted }: Witnesses): Counted[] {
  return [
    { what: "requests", seen: seen.requests, recorded: recorded.requests, reachedModel: arrivals.requests },
    {
      what: "dropped connections, sent again",
      seen: seen.reconnects,
      recorded: recorded.reconnects,
      reachedModel: arrivals.retries,
    },
    {
      what: "steers, delivered",
      seen: steersAccepted,
      recorded: recorded.steers,
      reachedModel: arrivals.steers,
    },
    {
      what: "interrupts, carried over",
      seen: seen.interrupts,
      recorded: recorded.interrupts,
      reachedModel: arrivals.carryOvers,
    },
    {
      what: "compactions, begun anew",
      seen: seen.compactions,
      recorded: recorded.compactions,
      reachedModel: arrivals.summaries,
    },
  ];
}

/** In words; nothing when all of them say the same, and each thing has happened. */
export function contradictions(witnesses: Witnesses): string[] {
  const uneven = countedThrice(witnesses).filter(
    ({ seen, recorded, reachedModel }) => seen === 0 || seen !== recorded || recorded !== reachedModel,
  );
  return [
    ...differences(witnesses.seen, witnesses.recorded),
    ...uneven.map(
      ({ what, seen, recorded, reachedModel }) =>
        `${what}: shown ${seen}, recorded ${recorded}, reached the model ${reachedModel}`,
    ),
  ];
}
