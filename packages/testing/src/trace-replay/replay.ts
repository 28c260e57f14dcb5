/** A Trace, run through today's engine: the same inputs, answers, outputs and decisions, in the recorded order. */
import {
  ContextEngine,
  type EngineState,
  isModelMessage,
  isPayload,
  newestUsage,
  type OmniMessage,
  type RecordedContext,
  takeUp,
} from "@coxswain/core";
import { ManualClock } from "../manual-clock.ts";
import { compareRequests } from "./compare-requests.ts";
import type { ReplayDifference } from "./difference.ts";
import { Moments } from "./moments.ts";
import { planReplay, type ProcessPlan, type ReplayPlan } from "./plan.ts";
import { playRun } from "./play-run.ts";
import { RecordedParts, type SentRequest } from "./recorded-parts.ts";
import type { RecordedRun } from "./recorded-runs.ts";
import { Stage } from "./stage.ts";

export interface ReplayReport {
  /** `unplayable`: the Trace cannot be played again; `obstacle` says why. */
  outcome: "same" | "different" | "unplayable";
  /** The first one. */
  difference: ReplayDifference | undefined;
  obstacle: string | undefined;
  /** What was left out of the comparison, in words. */
  setAside: string[];
  /** What today's engine wrote, by model context. */
  contexts: OmniMessage[][];
  /** What it sent, in order. */
  requests: SentRequest[];
  /** One line, or three when there is a difference. */
  summary: string;
}

/** @param contexts All model contexts of a Session, oldest first; or its last ones. */
export async function replay(contexts: readonly RecordedContext[]): Promise<ReplayReport> {
  const plan = planReplay(contexts);
  if (plan.obstacle !== undefined) return report(plan, { obstacle: plan.damage ?? plan.obstacle });
  const moments = new Moments();
  for (const { exchanges } of plan.processes) moments.add(exchanges, plan.records);
  let player = new Player(plan, moments);
  await player.play();
  while (player.stage.difference !== undefined && moments.retry(player.stage.next)) {
    player = new Player(plan, moments);
    await player.play();
  }
  const { stage, sent } = player;
  if (stage.difference !== undefined && moments.has(stage.next)) {
    return report(plan, { obstacle: `${stage.difference.place} came in the moment in which a policy refused a call` });
  }
  const difference = stage.difference ?? compareRequests(plan, sent);
  if (difference !== undefined && plan.damage !== undefined) return report(plan, { obstacle: plan.damage });
  return report(plan, { difference, contexts: stage.contexts, requests: sent });
}

type Findings = Partial<Pick<ReplayReport, "difference" | "obstacle" | "contexts" | "requests">>;

function report(plan: ReplayPlan, findings: Findings): ReplayReport {
  const { difference, obstacle, contexts = [], requests = [] } = findings;
  const outcome = obstacle !== undefined ? "unplayable" : difference === undefined ? "same" : "different";
  const counts = `${requests.length} requests, ${contexts.flat().length} records`;
  const words = {
    same: `${counts}: the same`,
    different: `${difference?.place}:\n  expected ${difference?.expected}\n  found    ${difference?.found}`,
    unplayable: `this Trace cannot be played again: ${obstacle}`,
  };
  return { outcome, difference, obstacle, setAside: plan.setAside, contexts, requests, summary: words[outcome] };
}

class Player {
  readonly stage: Stage;
  readonly sent: SentRequest[] = [];
  readonly #plan: ReplayPlan;
  readonly #moments: Moments;
  readonly #startMs: number;

  constructor(plan: ReplayPlan, moments: Moments) {
    this.#plan = plan;
    this.#moments = moments;
    this.stage = new Stage(plan.records);
    this.#startMs = Date.parse(plan.records[0]?.message.timestamp ?? "") || 0;
  }

  async play(): Promise<void> {
    const { stage } = this;
    stage.limit = this.#plan.first;
    for (const { message } of this.#plan.records.slice(0, this.#plan.first)) stage.put(message);
    for (const [index, process] of this.#plan.processes.entries()) {
      const initialState = index === 0 ? this.#plan.initialState : this.#takeOver(process);
      if (stage.difference === undefined) await this.#live(process, initialState);
      if (stage.difference !== undefined) return;
    }
  }

  /** Writes what a resume writes before anything else. */
  #takeOver({ span }: ProcessPlan): EngineState {
    const { stage } = this;
    stage.limit = span.start;
    stage.diesAtLimit = span.areCut;
    stage.mayDieAtLimit = false;
    const { contexts } = stage;
    const [before = [], said] = [[], ...contexts.filter((messages) => messages.some(isModelMessage))].slice(-2);
    // One in which nothing was said is not yet there.
    const newest = said ?? contexts[0] ?? [];
    const usageBefore = newest.some((message) => isPayload(message, "token_usage")) ? undefined : newestUsage(contexts);
    const { missing, state } = takeUp(newest, { before, usageBefore, now: () => this.#startMs });
    for (const record of missing) stage.put(record);
    if (stage.difference === undefined && stage.next < span.start)
      stage.fail("a resume that has nothing to repair here");
    return state;
  }

  async #live(process: ProcessPlan, initialState: EngineState | undefined): Promise<void> {
    const { stage } = this;
    const { limits, exchanges, interrupts, runs } = process;
    let current: RecordedRun | undefined;
    const backoffMs = (attempt: number): number =>
      Math.min(limits.reconnectBackoffMs * 2 ** (attempt - 1), limits.reconnectBackoffMaxMs);
    const parts = new RecordedParts({
      stage,
      exchanges,
      interrupts,
      moments: this.#moments,
      backoffMs,
      run: () => current,
    });
    // Of its own: nobody waits any more in a process that is dead.
    const clock = new ManualClock(this.#startMs);
    const engine = new ContextEngine({
      ...limits,
      llm: parts.llm,
      createLLM: () => parts.llm,
      environment: parts.environment,
      trace: stage.sink(),
      clock,
      sessionMeta: this.#plan.meta,
      initialState,
    });
    for (const run of runs) {
      current = run;
      await playRun({ engine, parts, run, process, stage, clock });
      if (stage.difference !== undefined) break;
    }
    this.sent.push(...parts.sent);
  }
}
