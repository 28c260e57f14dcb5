/** One Task or compaction of a replay: begins it, steers and interrupts it where the Trace says so, and ends with it. */
import { type ContextEngine, type OmniMessage, userText } from "@coxswain/core";
import type { ManualClock } from "../manual-clock.ts";
import { eventLoopTurn } from "../event-loop.ts";
import type { ProcessPlan } from "./plan.ts";
import type { RecordedParts } from "./recorded-parts.ts";
import type { RecordedRun, Told } from "./recorded-runs.ts";
import type { Stage } from "./stage.ts";

export interface PlayRunOptions {
  engine: ContextEngine;
  parts: RecordedParts;
  run: RecordedRun;
  process: ProcessPlan;
  stage: Stage;
  clock: ManualClock;
}

/** After so many turns of the event loop in which nothing happened, nothing will without somebody's doing. */
const quietTurns = 8;

/** Resolves once the run is over, cannot go on, or its process is dead. The stage has the difference, if there is one. */
export async function playRun(options: PlayRunOptions): Promise<void> {
  const { stage, run, process, clock } = options;
  const controller = new AbortController();
  const interrupt = (isQuiet: boolean): boolean => {
    const due = process.interrupts.find(({ at }) => at === stage.next && at < run.end);
    if (due === undefined || controller.signal.aborted || due.hasOpenSegments !== isQuiet) return false;
    tell(options, due.undelivered);
    controller.abort();
    return true;
  };
  const told = new Map(process.told);
  stage.limit = run.end;
  stage.diesAtLimit = run.isCut;
  stage.mayDieAtLimit = run === process.runs.at(-1);
  const tellNow = (): void => {
    if (stage.next < run.end) tell(options, told.get(stage.next) ?? []);
    told.delete(stage.next);
  };
  stage.onWritten = () => {
    if (!process.toldLate.has(stage.next)) tellNow();
    interrupt(false);
  };
  tellNow();
  // Something is taken from the host only once the run has begun.
  const isToldFirst = process.interrupts.some(({ at, undelivered }) => at === run.start && undelivered.length > 0);
  if (!isToldFirst) interrupt(false);
  let isOver = false;
  const onMessage = async ({ payload }: OmniMessage): Promise<void> => {
    if (payload.type !== "compaction_end" || !process.toldLate.has(stage.next)) return;
    await eventLoopTurn();
    tellNow();
  };
  const reading = read(options, controller.signal, onMessage).then(
    () => (isOver = true),
    (error: unknown) => stage.fail(`the run refuses: ${error instanceof Error ? error.message : String(error)}`),
  );
  if (isToldFirst) interrupt(false);
  for (let quiet = 0, seen = stage.activity; !isOver && stage.difference === undefined; ) {
    await eventLoopTurn();
    quiet = stage.activity === seen ? quiet + 1 : 0;
    seen = stage.activity;
    if (quiet < quietTurns) continue;
    quiet = 0;
    if (stage.isAtLimit && (run.isCut || stage.hasDied)) break;
    if (interrupt(true)) continue;
    const waits = clock.sleeping;
    if (waits.length === 0) stage.fail("nothing: the engine waits");
    else clock.advance(Math.min(...waits));
  }
  stage.onWritten = undefined;
  if (isOver) await reading;
  if (stage.difference === undefined && !stage.isAtLimit) stage.fail("the end of the run");
}

function tell({ engine, parts, stage }: PlayRunOptions, told: readonly Told[]): void {
  for (const one of told) {
    if (typeof one !== "string") parts.report(one);
    else if (!engine.steer(one)) stage.fail(`no steering: the engine does not take ${JSON.stringify(one)} any more`);
  }
}

async function read(
  { engine, parts, process, run, stage }: PlayRunOptions,
  signal: AbortSignal,
  onMessage: (message: OmniMessage) => Promise<void>,
): Promise<void> {
  const { approve } = parts;
  const { carryOver, pendingSummary } = engine.state;
  const owes = carryOver.length > 0 || pendingSummary !== undefined || process.told.has(run.start);
  // What was said and never written can have been anything.
  const isLost = run.isCut && run.input.length === 0 && !owes;
  const input = isLost ? [userText("")] : run.input;
  // An interrupt that came before everything else does not say what it interrupted.
  const isTask = run.kind === "task" && (input.length > 0 || owes);
  const messages = isTask ? engine.run(input, { approve, signal }) : engine.compact({ signal });
  for (;;) {
    const result = await messages.next();
    if (result.done === true) return;
    stage.activity += 1;
    await onMessage(result.value);
  }
}
