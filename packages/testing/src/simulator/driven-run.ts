/** One run, from its first `next()` to its end or to the death of its process: step by step, as the schedule has it. */
import { getEventListeners } from "node:events";
import type { OmniMessage } from "@coxswain/core";
import { drawnApprover } from "./approver.ts";
import type { Gate, GateKind } from "./gates.ts";
import type { Interrupt } from "./observation.ts";
import { Reader } from "./reader.ts";
import { drawWords, type RunPlan } from "./run-plan.ts";
import { settle } from "./settle.ts";
import type { SimulatedProcess } from "./simulated-process.ts";
import type { World } from "./world.ts";

/** What is wrong with how a run went, as far as no observation can tell. */
export class RunFault extends Error {
  override readonly name = "RunFault";
}

export interface DriveOptions {
  /** Called in front of each step; answers whether the run is to be left as it stands. */
  isOver: (run: DrivenRun) => boolean;
}

const maxSteps = 6_000;
/** With more, a Task might go on and on. */
const maxSteers = 12;
const weights: Record<GateKind, number> = { model: 8, tool: 6, approver: 4, environment: 3, disk: 6, reader: 4 };
const clockWeight = 3;

export class DrivenRun {
  readonly #process: SimulatedProcess;
  readonly #plan: RunPlan;
  readonly #world: World;
  readonly #controller = new AbortController();
  readonly reader: Reader;
  isInterrupted = false;
  #steers = 0;
  /** At the step before, nothing could happen. */
  #isStuck = false;

  /** @throws what the engine throws at the call */
  constructor(process: SimulatedProcess, plan: RunPlan) {
    this.#process = process;
    this.#plan = plan;
    this.#world = process.world;
    const { gates, log, engine } = process;
    const { features, scripts } = this.#world;
    const signal = this.#controller.signal;
    const approve = drawnApprover({ random: scripts, features, gates, log });
    const stream =
      plan.kind === "compact"
        ? engine.compact({ signal })
        : engine.run(plan.input, { signal, ...(plan.hasApprover ? { approve } : {}) });
    this.reader = new Reader(stream, {
      gates,
      log,
      isEager: plan.isReaderEager,
      onMessage: (message) => this.#react(message),
    });
  }

  /** How many still listen to the host's signal. */
  get listeners(): number {
    return getEventListeners(this.#controller.signal, "abort").length;
  }

  begin(): void {
    const { gates, log, model, running } = this.#process;
    gates.forgetSilent();
    // What an interrupt has left behind is not this run's.
    model.openStreams.clear();
    running.clear();
    this.#process.requests = 0;
    this.#process.background.hasNews = false;
    this.#world.disk.mood = this.#plan.disk;
    log.add({ at: "run", kind: this.#plan.kind, input: this.#plan.input });
    if (this.#plan.isSignalFiredBefore) {
      this.#controller.abort("the host interrupts");
      this.#note("signal before the run");
    }
    this.reader.ask();
  }

  /** @throws RunFault */
  async drive({ isOver }: DriveOptions): Promise<void> {
    await settle(3);
    for (let steps = 0; !this.reader.hasEnded && !this.#process.isDead; steps += 1) {
      if (steps > maxSteps) throw new RunFault(`the run does not end: ${maxSteps} steps`);
      if (isOver(this)) return;
      await this.#step();
    }
    if (this.reader.failure !== undefined) throw new RunFault(`the run threw ${wordsOf(this.reader.failure)}`);
  }

  interrupt(how: Exclude<Interrupt, "signal before the run">): void {
    this.#note(how);
    if (how === "signal") this.#controller.abort("the host interrupts");
    else this.reader.leave();
  }

  #note(how: Interrupt): void {
    this.isInterrupted = true;
    this.#isStuck = false;
    this.#process.log.add({ at: "interrupted", how });
  }

  async #step(): Promise<void> {
    const { choices: random, clock } = this.#world;
    clock.tick();
    if (this.#hostActs()) return settle(4);
    const isRace = random.chance(0.15);
    const opened = [this.#openOne()];
    if (isRace) {
      // Two things in the same moment, and sometimes an interrupt between them and their consequences.
      opened.push(this.#openOne(true));
      if (!this.isInterrupted && random.chance(this.#plan.interruptRate)) this.#interruptSomehow();
    }
    for (const waitsFor of opened) if (waitsFor !== undefined) await waitsFor;
    await settle(this.isInterrupted ? 4 : 2);
  }

  /** Whether the host did something of its own. */
  #hostActs(): boolean {
    const { choices: random, clock } = this.#world;
    const { interruptRate, deathRate, steerRate, skipRate, reportRate } = this.#plan;
    if (random.chance(deathRate)) {
      this.#label("the process dies");
      this.#process.die();
      return true;
    }
    if (this.#steers < maxSteers && random.chance(steerRate)) {
      this.#label("host steers");
      this.#steer();
      return true;
    }
    if (!this.isInterrupted && random.chance(interruptRate)) {
      this.#interruptSomehow();
      return true;
    }
    if (random.chance(reportRate)) {
      this.#label("background work ends");
      this.#process.endBackgroundWork();
      return true;
    }
    if (clock.sleepers > 0 && random.chance(skipRate) && this.#process.engine.skipReconnectWait()) {
      this.#label("host skips the wait");
      this.#process.log.add({ at: "skipped wait" });
      return true;
    }
    return false;
  }

  /** @param isExtra With others in the same moment: there may be none. */
  #openOne(isExtra = false): void | Promise<void> {
    const { choices: random, clock, disk } = this.#world;
    const gates = this.#process.gates.closed.filter((gate) => this.#mayOpen(gate));
    const mayPass = !isExtra && clock.sleepers > 0 && (!this.#isQuiet || disk.isHanging || !disk.isIdle);
    if (gates.length === 0 && !mayPass) {
      return isExtra ? undefined : this.#breakDeadlock();
    }
    this.#isStuck = false;
    const readerWeight = this.#plan.readerWeight;
    const chances = gates.map(({ kind }) => (kind === "reader" ? readerWeight : weights[kind]));
    const gate = gates[random.weighted(mayPass ? [...chances, clockWeight] : chances)];
    if (gate === undefined) {
      this.#label("time passes");
      // So slow that an interrupt waits for it no longer.
      if (this.isInterrupted && !disk.isIdle) disk.hang();
      clock.wakeNext();
    } else {
      this.#label(gate.label);
      return this.#process.gates.open(gate);
    }
  }

  get #isQuiet(): boolean {
    return this.isInterrupted && this.#plan.isSilentAfterInterrupt;
  }

  #mayOpen({ kind }: Gate): boolean {
    return !this.#isQuiet || kind === "reader" || kind === "disk";
  }

  /** Nothing can happen any more: right, if somebody does not answer, and then only the host can end it. */
  #breakDeadlock(): void | Promise<void> {
    const { gates, running } = this.#process;
    if (!this.#isStuck) {
      // It may only need more time than it was given.
      this.#isStuck = true;
      return settle(20);
    }
    const { disk, choices: random, features, toolPatience } = this.#world;
    if (this.isInterrupted)
      throw new RunFault("the run was interrupted and does not end, although nobody is waited for");
    const isToolSilent = toolPatience > 0 && running.size > 0;
    if (gates.silent.length === 0 && !disk.isHanging && !isToolSilent) {
      throw new RunFault("the run does not end: everybody has answered, and nothing happens");
    }
    if (features.has("deaths") && random.chance(0.2)) {
      this.#label("the process dies");
      this.#process.die();
    } else this.#interruptSomehow();
  }

  #interruptSomehow(): void {
    const isSignal = this.#world.choices.chance(0.6);
    const how = isSignal ? "signal" : this.reader.isPending ? "return while reading" : "break";
    this.#label(`interrupt: ${how}`);
    this.interrupt(how);
  }

  #steer(): void {
    this.#steers += 1;
    const { mark, text } = drawWords(this.#world, "s");
    const isAccepted = this.#process.engine.steer(text);
    this.#process.log.add({ at: "steered", mark, isAccepted, text });
  }

  /** What a host does in the moment in which it sees a message. */
  #react(message: OmniMessage): void {
    const { choices: random } = this.#world;
    const isTelling = message.type === "event_msg";
    if (this.#steers < maxSteers && random.chance(isTelling ? this.#plan.steerRate : this.#plan.steerRate / 4))
      this.#steer();
    if (random.chance(isTelling ? this.#plan.reportRate : 0)) this.#process.endBackgroundWork();
    if (!this.isInterrupted && random.chance(this.#plan.interruptRate))
      this.interrupt(random.chance(0.5) ? "signal" : "break");
  }

  #label(label: string): void {
    this.#world.steps += 1;
    this.#process.log.add({ at: "step", number: this.#world.steps, label });
  }
}

function wordsOf(error: unknown): string {
  return error instanceof Error ? `${error.name}: ${error.message}` : JSON.stringify(error);
}
