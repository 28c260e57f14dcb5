/** `npm run sim`: one seed to look at, or many to find a bad one among. */
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";
import { type Feature, features, isFeature } from "./features.ts";
import { reproduction, shrink } from "./shrink.ts";
import { simulate, type SimulateOptions } from "./simulate.ts";
import { addTotals, noTotals, type Totals } from "./totals.ts";
import type { WorkerReport, WorkerTask } from "./worker.ts";

const usage = `npm run sim -- --seed N [--log] [--runs N] [--without "a,b"]
npm run sim -- --seeds N [--from N] [--workers N]
What a life can do without: ${features.join(", ")}.`;

interface Settings {
  seed: number | undefined;
  seeds: number;
  from: number;
  workers: number;
  hasLog: boolean;
  life: Omit<SimulateOptions, "seed">;
}

/** @returns The exit code: 0 all is well, 1 a rule was broken, 2 the arguments make no sense. */
export async function simCommand(args: string[]): Promise<number> {
  let settings: Settings;
  try {
    settings = readSettings(args);
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return 2;
  }
  return settings.seed === undefined ? runMany(settings) : runOne(settings.seed, settings);
}

function readSettings(args: string[]): Settings {
  const { values } = parseArgs({
    args,
    options: {
      seed: { type: "string" },
      seeds: { type: "string", default: "10000" },
      from: { type: "string", default: "1" },
      workers: { type: "string", default: "1" },
      runs: { type: "string" },
      without: { type: "string", default: "" },
      log: { type: "boolean", default: false },
    },
  });
  const without = values.without.split(",").flatMap((name) => (name.trim() === "" ? [] : [readFeature(name.trim())]));
  return {
    seed: values.seed === undefined ? undefined : readInteger("seed", values.seed),
    seeds: readInteger("seeds", values.seeds),
    from: readInteger("from", values.from),
    workers: Math.max(1, readInteger("workers", values.workers)),
    hasLog: values.log,
    life: { without, maxRuns: values.runs === undefined ? undefined : readInteger("runs", values.runs) },
  };
}

function readInteger(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() === "" || !Number.isSafeInteger(value)) throw new Error(`--${name} takes an integer, not "${text}"`);
  return value;
}

function readFeature(name: string): Feature {
  if (isFeature(name)) return name;
  throw new Error(`--without knows no "${name}"`);
}

async function runOne(seed: number, { life, hasLog }: Settings): Promise<number> {
  const simulation = await simulate({ ...life, seed, isThorough: true });
  if (hasLog) console.log(simulation.schedule().join("\n"));
  if (simulation.violation !== undefined) return tellFailure({ ...life, seed, isThorough: true });
  if (!hasLog) tellTotals(simulation.totals);
  console.log(`seed ${seed}: every rule held`);
  return 0;
}

async function runMany(settings: Settings): Promise<number> {
  const { seeds, from, workers, life } = settings;
  const totals = noTotals();
  let told = 0;
  const failed = await lookThrough(settings, (report) => {
    addTotals(totals, report.totals);
    if (totals.schedules - told < seeds / 20) return;
    told = totals.schedules;
    console.log(`${totals.schedules} of ${seeds} seeds, ${totals.steps} steps, ${totals.requests} requests`);
  });
  tellTotals(totals);
  if (failed !== undefined) return tellFailure({ ...life, seed: failed });
  console.log(`seeds ${from} to ${from + seeds - 1} on ${workers} workers: every rule held`);
  return 0;
}

/** @returns A seed that broke a rule, if one did. */
function lookThrough(settings: Settings, onReport: (report: WorkerReport) => void): Promise<number | undefined> {
  const { seeds, from, workers, life } = settings;
  return new Promise((resolve, reject) => {
    let running = workers;
    const all: Worker[] = [];
    const end = (failed: number | undefined): void => {
      for (const worker of all) void worker.terminate();
      resolve(failed);
    };
    for (let first = 0; first < workers; first += 1) {
      const task: WorkerTask = { from: from + first, to: from + seeds, every: workers, life };
      const worker = new Worker(new URL("./worker.js", import.meta.url), { workerData: task });
      all.push(worker);
      worker.on("error", reject);
      worker.on("message", (report: WorkerReport) => {
        onReport(report);
        if (report.failed !== undefined) end(report.failed);
        else if (report.isLast) {
          running -= 1;
          if (running === 0) end(undefined);
        }
      });
    }
  });
}

async function tellFailure(options: SimulateOptions): Promise<number> {
  const shrunk = await shrink(options, await simulate(options));
  const { violation } = shrunk.simulation;
  console.log(shrunk.simulation.schedule().join("\n"));
  console.log(`\nBROKEN: ${violation?.invariant ?? "nothing"}: ${violation?.problem ?? "it holds on its own"}`);
  console.log(`seed ${options.seed}; made smaller: ${reproduction(shrunk)} --log`);
  console.log(`npm run sim -- --seed ${options.seed}`);
  return 1;
}

function tellTotals(totals: Totals): void {
  for (const [name, count] of Object.entries(totals)) console.log(`${String(count).padStart(12)}  ${name}`);
}
