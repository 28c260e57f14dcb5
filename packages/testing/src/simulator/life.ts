/** One whole life of a Session: runs, compactions, interrupts, deaths and resumes, all from one seed. */
import type { OmniMessage } from "@coxswain/core";
import { DrivenRun, RunFault } from "./driven-run.ts";
import type { Feature } from "./features.ts";
import type { Observation } from "./observation.ts";
import { drawPlan } from "./run-plan.ts";
import { settle } from "./settle.ts";
import { calmDisk } from "./simulated-disk.ts";
import { beginLife, resumeLife, type SimulatedProcess } from "./simulated-process.ts";
import { type OwnParts, World } from "./world.ts";

export interface Violation {
  /** The rule's name. */
  invariant: string;
  problem: string;
}

/** Where a life is made to end, once by an interrupt and once by a death. */
export interface Fork {
  step: number;
  by: "interrupt" | "death";
}

export interface LifeOptions {
  seed: number;
  features: Iterable<Feature>;
  own: OwnParts;
  maxRuns: number;
  /** Begins to watch a life; what that gives tells of the first thing that is wrong, if anything is. */
  watch(): (seen: Observation) => Violation | undefined;
  fork?: Fork | undefined;
}

export interface Life {
  log: Observation[];
  violation: Violation | undefined;
  contexts: OmniMessage[][];
  /** Steps at which an interrupt and a death must come to the same. */
  forkable: number[];
  /** Of a fork: the process that goes on, and how many records there were. */
  forked: { process: SimulatedProcess; recordsBefore: number; world: World } | undefined;
}

export async function live(options: LifeOptions): Promise<Life> {
  const lived = new LivedLife(options);
  await lived.go();
  return lived.life;
}

class LivedLife {
  readonly life: Life;
  readonly #world: World;
  readonly #fork: Fork | undefined;
  #process: SimulatedProcess;
  #processes = 1;

  constructor(options: LifeOptions) {
    const log: Observation[] = [];
    this.#fork = options.fork;
    this.life = { log, violation: undefined, contexts: [], forkable: [], forked: undefined };
    const { seed, features, own, maxRuns } = options;
    const watch = options.watch();
    const observer = {
      add: (seen: Observation): void => {
        log.push(seen);
        this.life.violation ??= watch(seen);
      },
    };
    this.#world = new World({ seed, features, log: observer, own, maxRuns });
    this.#process = beginLife(this.#world);
  }

  async go(): Promise<void> {
    const { settings } = this.#world;
    try {
      for (let run = 0; run < settings.runs && !this.#isOver; run += 1) await this.#run();
      if (!this.#isOver) await this.#endLife();
    } catch (error) {
      if (!(error instanceof RunFault)) throw error;
      this.life.violation ??= { invariant: "ends", problem: error.message };
    }
    if (this.life.forked === undefined) await this.#world.end();
    this.life.contexts = this.#world.disk.contexts;
  }

  get #isOver(): boolean {
    return this.life.violation !== undefined || this.life.forked !== undefined;
  }

  async #run(): Promise<void> {
    const { choices: random, disk, features } = this.#world;
    if (random.chance(0.7)) disk.recover();
    const { state } = this.#process.engine;
    const isOwed = state.carryOver.length > 0 || state.pendingSummary !== undefined;
    const plan = drawPlan(this.#world, isOwed || this.#process.background.hasNews);
    const run = new DrivenRun(this.#process, plan);
    run.begin();
    await run.drive({ isOver: () => this.#isForkHere(run) || this.life.violation !== undefined });
    if (this.life.violation !== undefined) return;
    if (this.#process.isDead) return this.#resume();
    if (!run.reader.hasEnded) return this.#endFork(run);
    await settle(3);
    this.#noteEnd(run);
    const isReportBetween = random.chance(0.15);
    if (isReportBetween && features.has("background work")) this.#process.endBackgroundWork();
    const isDeathBetween = random.chance(0.15);
    if (random.chance(0.5)) await this.#answerLate();
    if (isDeathBetween && features.has("deaths")) await this.#resume();
  }

  /** Notes where this life could be forked, and whether it is to be here. */
  #isForkHere(run: DrivenRun): boolean {
    const { steps } = this.#world;
    if (this.#fork !== undefined) return this.#fork.step === steps && this.#isForkable(run);
    if (this.#isForkable(run) && this.life.forkable.at(-1) !== steps) this.life.forkable.push(steps);
    return false;
  }

  #isForkable(run: DrivenRun): boolean {
    const { disk } = this.#world;
    return !run.isInterrupted && disk.isIdle && !disk.isHanging;
  }

  async #endFork(run: DrivenRun): Promise<void> {
    const { disk, features } = this.#world;
    const recordsBefore = disk.contexts.flat().length;
    features.clear();
    disk.mood = calmDisk;
    if (this.#fork?.by === "death") await this.#resume(true);
    else {
      run.reader.hurry();
      run.interrupt("signal");
      await settle(6);
      if (!run.reader.hasEnded) throw new RunFault("the run was interrupted and does not end at once");
    }
    this.life.forked = { process: this.#process, recordsBefore, world: this.#world };
  }

  /** The process dies, if it has not, and the next takes up its Trace; sometimes that one dies in doing so. */
  async #resume(isFork = false): Promise<void> {
    const { choices: random } = this.#world;
    this.#process.die();
    await settle();
    const isTwice = random.chance(0.2);
    const writes = random.int(0, 2);
    if (isTwice && !isFork) {
      this.#processes += 1;
      const next = resumeLife(this.#world, this.#process, this.#processes, writes);
      next?.die();
      this.#process = next ?? this.#process;
    }
    this.#processes += 1;
    const next = resumeLife(this.#world, this.#process, this.#processes);
    if (next !== undefined) this.#process = next;
  }

  #noteEnd(run: DrivenRun): void {
    const { disk, clock } = this.#world;
    const { engine, model, running, log } = this.#process;
    const leftovers: string[] = [];
    if (run.listeners > 0) leftovers.push(`${run.listeners} listeners on the host's signal`);
    if (clock.sleepers > 0) leftovers.push(`${clock.sleepers} timers`);
    if (engine.activity !== "idle") leftovers.push(`an engine that is ${engine.activity}`);
    if (engine.skipReconnectWait()) leftovers.push("a reconnect wait");
    if (!run.isInterrupted && model.openStreams.size > 0) leftovers.push("an open stream of the model");
    if (!run.isInterrupted && running.size > 0) leftovers.push(`running tools: ${[...running].join(", ")}`);
    log.add({
      at: "ended",
      end: {
        state: engine.state,
        modelHistory: [...model.history],
        records: disk.isIdle ? [...disk.newest] : undefined,
        isReadToEnd: run.reader.isReadToEnd,
        leftovers,
      },
    });
  }

  /** Whoever was waiting gets on, though nobody waits for him any more. */
  async #answerLate(): Promise<void> {
    const { gates } = this.#process;
    for (let round = 0; round < 20 && gates.closed.length > 0; round += 1) {
      for (const gate of gates.closed) await gates.open(gate);
      await settle(2);
    }
  }

  async #endLife(): Promise<void> {
    this.#world.disk.recover();
    await this.#answerLate();
    await settle(3);
  }
}
