/** One Task or compaction of a replay: begins it, steers and interrupts it where the Trace says so, and ends with it. */
import type { ContextEngine } from "@coxswain/core";
import type { ManualClock } from "../manual-clock.ts";
import { eventLoopTurn } from "./event-loop.ts";
import type { ProcessPlan } from "./plan.ts";
import type { RecordedParts } from "./recorded-parts.ts";
import type { RecordedRun } from "./runs.ts";
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
    const due = process.interrupts.find(({ at }) => at === stage.next);
    if (due === undefined || controller.signal.aborted || due.hasOpenSegments !== isQuiet) return false;
    steer(options, due.undelivered);
    controller.abort();
    return true;
  };
  stage.limit = run.end;
  stage.diesAtLimit = run.isCut;
  stage.onWritten = () => {
    steer(options, process.steering.get(stage.next) ?? []);
    interrupt(false);
  };
  interrupt(false);
  let isOver = false;
  const reading = read(options, controller.signal).then(
    () => (isOver = true),
    (error: unknown) => stage.fail(`the run refuses: ${error instanceof Error ? error.message : String(error)}`),
  );
  for (let quiet = 0, seen = stage.activity; !isOver && stage.difference === undefined; ) {
    await eventLoopTurn();
    quiet = stage.activity === seen ? quiet + 1 : 0;
    seen = stage.activity;
    if (quiet < quietTurns) continue;
    quiet = 0;
    if (stage.next >= run.end && run.isCut) break;
    if (interrupt(true)) continue;
    const waits = clock.sleeping;
    if (waits.length === 0) stage.fail("nothing: the engine waits");
    else clock.advance(Math.min(...waits));
  }
  stage.onWritten = undefined;
  if (isOver) await reading;
  if (stage.difference === undefined && stage.next < run.end) stage.fail("the end of the run");
}

function steer({ engine, stage }: PlayRunOptions, texts: readonly string[]): void {
  for (const text of texts) {
    if (!engine.steer(text)) stage.fail(`no steering: the engine does not take ${JSON.stringify(text)} any more`);
  }
}

async function read({ engine, parts, run, stage }: PlayRunOptions, signal: AbortSignal): Promise<void> {
  const { approve } = parts;
  const { carryOver, pendingSummary } = engine.state;
  const owes = carryOver.length > 0 || pendingSummary !== undefined;
  // An interrupt that came before everything else does not say what it interrupted.
  const isTask = run.kind === "task" && (run.input.length > 0 || owes || !signal.aborted);
  const messages = isTask ? engine.run(run.input, { approve, signal }) : engine.compact({ signal });
  for (;;) {
    const result = await messages.next();
    if (result.done === true) return;
    stage.activity += 1;
  }
}
