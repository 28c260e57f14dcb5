/** One process of a life: an engine with scripted parts around it, until it is told to die. */
import { ContextEngine, type EngineState, missingRecords, takeUp } from "@coxswain/core";
import { Background } from "./background.ts";
import { gatedEnvironment } from "./gated-environment.ts";
import { Gates } from "./gates.ts";
import type { Observation, Observer, Resumption } from "./observation.ts";
import { drawReply } from "./reply.ts";
import { drawWords } from "./run-plan.ts";
import { SimulatedModel } from "./simulated-model.ts";
import type { World } from "./world.ts";

export class SimulatedProcess {
  readonly world: World;
  readonly gates = new Gates();
  readonly engine: ContextEngine;
  /** Nothing that it does is seen any more. */
  isDead = false;
  /** Ids of the calls that run. */
  readonly running = new Set<string>();
  /** Requests of the Task that runs. */
  requests = 0;
  readonly log: Observer;
  readonly background: Background;
  #contexts: number;
  #model: SimulatedModel;

  /** @param contexts How many model contexts the life has had. */
  constructor(world: World, state: EngineState | undefined, contexts: number) {
    this.world = world;
    this.#contexts = contexts;
    this.log = { add: (seen: Observation) => this.#observe(seen) };
    this.background = new Background(this.log);
    this.#model = this.#openModel(state?.history ?? []);
    const { settings, disk, clock, meta, scripts, features } = world;
    this.engine = new ContextEngine({
      llm: this.#model,
      createLLM: () => this.#openModel([]),
      environment: gatedEnvironment(world.openEnvironment(), {
        random: scripts,
        features,
        gates: this.gates,
        log: this.log,
        background: this.background,
        running: this.running,
        patience: world.toolPatience,
      }),
      trace: disk.open(this.gates, () => this.die()),
      // Nobody waits any more in a process that is dead.
      clock: {
        now: () => clock.now(),
        sleep: (ms, signal) => (this.isDead ? new Promise(() => undefined) : clock.sleep(ms, signal)),
      },
      compaction: settings.compaction,
      sessionMeta: meta,
      initialState: state,
      maxTurns: settings.maxTurns,
      maxReconnects: settings.maxReconnects,
    });
    this.engine.onReport((report) => this.background.tellHost(report, this.engine.activity === "idle"));
  }

  /** Something that it had begun before. */
  endBackgroundWork(): void {
    const { mark, text } = drawWords(this.world, "b");
    this.background.end(mark, text);
  }

  get model(): SimulatedModel {
    return this.#model;
  }

  get contexts(): number {
    return this.#contexts;
  }

  /** Whatever it was doing is cut off; of its records, some land. */
  die(): void {
    const { disk, clock, log, features } = this.world;
    if (this.isDead) return;
    this.isDead = true;
    const heldBack = disk.die(features.has("torn records"));
    clock.forgetSleepers();
    log.add({ at: "died", tornTail: disk.endsTorn, heldBack });
  }

  #observe(seen: Observation): void {
    if (!this.isDead) this.world.log.add(seen);
  }

  #openModel(history: EngineState["history"]): SimulatedModel {
    const { scripts, build, settings, features } = this.world;
    this.#contexts += 1;
    const model = new SimulatedModel(
      {
        random: scripts,
        build,
        gates: this.gates,
        log: this.log,
        drawReply: (purpose) => {
          this.requests += 1;
          const { faultRate } = settings;
          return drawReply({
            random: scripts,
            features,
            purpose,
            faultRate,
            turn: this.requests,
            possibleCalls: () => this.world.calls,
            nextNumber: () => this.world.nextNumber(),
          });
        },
      },
      { number: this.#contexts, history, baseTokens: settings.baseTokens },
    );
    const previous: SimulatedModel | undefined = this.#model;
    if (previous !== undefined) previous.isStale = true;
    this.#model = model;
    return model;
  }
}

/** The first process of a life: the composition writes what Session it is. */
export function beginLife(world: World): SimulatedProcess {
  world.disk.writeNow(world.meta);
  announce(world, 1, undefined);
  return new SimulatedProcess(world, undefined, 0);
}

/**
 * What a new process does with the Trace of a dead one, in the order of the composition: what is missing is written, the
 * records are folded, an engine goes on.
 *
 * @param writes How many of the missing records it gets to write before it dies too. Default: all.
 */
export function resumeLife(
  world: World,
  dead: SimulatedProcess,
  number: number,
  writes = Number.POSITIVE_INFINITY,
): SimulatedProcess | undefined {
  const { disk, clock, log } = world;
  const { messages, usageBefore } = disk.read();
  const now = (): number => clock.now();
  const { missing, state } = takeUp(messages, { before: disk.before, usageBefore, now });
  for (const record of missing.slice(0, writes)) disk.writeNow(record);
  if (writes < missing.length) {
    log.add({ at: "died", tornTail: false, heldBack: 0 });
    return undefined;
  }
  const stillMissing = missingRecords([...messages, ...missing], now);
  announce(world, number, { state, missing, stillMissing });
  return new SimulatedProcess(world, state, dead.contexts);
}

function announce(world: World, number: number, resumed: Resumption | undefined): void {
  world.log.add({ at: "process", number, compactionMode: world.settings.compaction?.mode ?? "summarize", resumed });
}
