/** A failing life made smaller: fewer runs, and without what the failure does not need. */
import { type Feature, features } from "./features.ts";
import { type SimulateOptions, type Simulation, simulate } from "./simulate.ts";

export interface Shrunk {
  simulation: Simulation;
  maxRuns: number | undefined;
  without: Feature[];
}

/** @param failed What the options led to. The smaller life breaks the same rule. */
export async function shrink(options: SimulateOptions, failed: Simulation): Promise<Shrunk> {
  const rule = failed.violation?.invariant;
  let shrunk: Shrunk = { simulation: failed, maxRuns: options.maxRuns, without: [...(options.without ?? [])] };
  const tryWith = async (change: Partial<Pick<Shrunk, "maxRuns" | "without">>): Promise<boolean> => {
    const attempt = { maxRuns: shrunk.maxRuns, without: shrunk.without, ...change };
    const simulation = await simulate({ ...options, ...attempt });
    if (rule === undefined || simulation.violation?.invariant !== rule) return false;
    shrunk = { simulation, ...attempt };
    return true;
  };
  for (const feature of features) {
    if (!shrunk.without.includes(feature)) await tryWith({ without: [...shrunk.without, feature] });
  }
  for (let runs = 1; runs < shrunk.simulation.totals.runs; runs += 1) if (await tryWith({ maxRuns: runs })) break;
  return shrunk;
}

/** The line that lives this life again. */
export function reproduction({ simulation, maxRuns, without }: Shrunk): string {
  const runs = maxRuns === undefined ? "" : ` --runs ${maxRuns}`;
  const left = without.length === 0 ? "" : ` --without "${without.join(",")}"`;
  return `npm run sim -- --seed ${simulation.seed}${runs}${left}`;
}
