/** A thread that lives through every n-th seed of a range. */
import { parentPort, workerData } from "node:worker_threads";
import { simulate, type SimulateOptions } from "./simulate.ts";
import { addTotals, noTotals, type Totals } from "./totals.ts";

export interface WorkerTask {
  from: number;
  /** Not included. */
  to: number;
  every: number;
  life: Omit<SimulateOptions, "seed">;
}

export interface WorkerReport {
  /** Since the last report. */
  totals: Totals;
  failed: number | undefined;
  isLast: boolean;
}

const seedsPerReport = 200;

async function work({ from, to, every, life }: WorkerTask): Promise<void> {
  let totals = noTotals();
  const report = (failed: number | undefined, isLast: boolean): void => {
    parentPort?.postMessage({ totals, failed, isLast } satisfies WorkerReport);
    totals = noTotals();
  };
  for (let seed = from; seed < to; seed += every) {
    const simulation = await simulate({ ...life, seed });
    addTotals(totals, simulation.totals);
    if (simulation.violation !== undefined) return report(seed, true);
    if (totals.schedules >= seedsPerReport) report(undefined, false);
  }
  report(undefined, true);
}

await work(workerData as WorkerTask);
