/** One seed, one life, checked from beginning to end. */
import type { OmniMessage } from "@coxswain/core";
import { type Feature, features } from "./features.ts";
import { compareForks } from "./fork.ts";
import { watchAll } from "./invariants/index.ts";
import { type LifeOptions, live, type Violation } from "./life.ts";
import type { Observation } from "./observation.ts";
import { isPlayed, playAgain } from "./play-again.ts";
import { Random } from "./random.ts";
import { scheduleLines } from "./schedule-log.ts";
import { type Totals, totalsOf } from "./totals.ts";
import type { OwnParts } from "./world.ts";

export interface SimulateOptions extends OwnParts {
  /** An integer. The same seed lives the same life. */
  seed: number;
  /** What the life is to do without. */
  without?: readonly Feature[] | undefined;
  /** Runs of the life at most. */
  maxRuns?: number | undefined;
  /** Reads back every beginning of the Trace, rather than some, and replays it. */
  isThorough?: boolean | undefined;
  /** A rule of your own over a whole life: what is wrong with it, in words. */
  check?: ((simulation: Simulation) => string | undefined) | undefined;
}

export interface Simulation {
  readonly seed: number;
  /** The first thing that was wrong; the life ended there. */
  readonly violation: Violation | undefined;
  readonly totals: Totals;
  /** Everything that happened, in order. */
  readonly observations: readonly Observation[];
  /** The Trace: one array for each model context. */
  readonly contexts: readonly OmniMessage[][];
  /** The life as lines to read. */
  schedule(): string[];
}

const replayEvery = 25;
/** Of so many lives, one is lived twice more up to some step, to compare an interrupt with a death. */
const forkEvery = 3;

export async function simulate(options: SimulateOptions): Promise<Simulation> {
  const { seed, without = [], maxRuns = Number.POSITIVE_INFINITY, isThorough = false, check } = options;
  if (!Number.isSafeInteger(seed)) throw new TypeError(`seed must be an integer, but is ${seed}`);
  const lifeOptions: LifeOptions = {
    seed,
    features: features.filter((feature) => !without.includes(feature)),
    own: options,
    maxRuns,
    watch: () => watchAll(isThorough ? 1 : replayEvery),
  };
  const life = await live(lifeOptions);
  const random = new Random(seed, 2);
  const { forkable, log, contexts } = life;
  // A user's own parts remember what they did, and would live twice.
  const isOwn = options.tools !== undefined || options.environment !== undefined;
  const mayFork = life.violation === undefined && forkable.length > 0 && !isOwn;
  const step = forkable[random.int(0, Math.max(0, forkable.length - 1))];
  const isForked = mayFork && (random.chance(1 / forkEvery) || isThorough);
  const differs = isForked && step !== undefined ? await compareForks(lifeOptions, step) : undefined;
  const isWhole = life.violation === undefined && differs === undefined;
  const played = isWhole && (isPlayed(seed) || isThorough) ? await playAgain(contexts) : undefined;
  const totals = totalsOf(log);
  if (played?.outcome === "same") totals["traces played again"] += 1;
  if (isForked) totals["forks compared"] += 1;
  const simulation = {
    seed,
    violation: life.violation ?? differs ?? played?.violation,
    totals,
    observations: log,
    contexts,
    schedule: () => scheduleLines(log),
  };
  const problem = simulation.violation === undefined ? check?.(simulation) : undefined;
  return problem === undefined ? simulation : { ...simulation, violation: { invariant: "check", problem } };
}
