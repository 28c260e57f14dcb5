/** The turn loop: from an input to a final answer, or to whatever ended it before. */
import { type OmniMessage, steeringText } from "@coxswain/protocol";
import { compact, isCompactionDue } from "./compaction.ts";
import { openContext, recordReports, writeInput } from "./context-input.ts";
import { makeRoom } from "./overflow.ts";
import { runAttempt } from "./request.ts";
import { countTry, noTries } from "./retry.ts";
import type { Run } from "./run.ts";
import { TurnDriver } from "./turn-driver.ts";

/** Why a turn was not committed. */
interface TurnFailure {
  reason: string;
  /** The provider said that the input does not fit. */
  isOverflow: boolean;
}

/** @throws Interrupted */
export async function runTask(run: Run, newMessages: readonly OmniMessage[]): Promise<void> {
  const { parts } = run;
  await writeInput(run, newMessages);
  let hasMadeRoom = false;
  for (let turns = 0; ; ) {
    const isOver = parts.limits.maxTurns >= 0 && turns >= parts.limits.maxTurns;
    if (!isOver || !parts.inbox.isEmpty) await openContext(run);
    await deliverSteering(run);
    if (isOver) return stopAtMaxTurns(run);
    const failure = await runTurn(run);
    if (failure === undefined) {
      turns += 1;
      hasMadeRoom = false;
      if (!(await goesOn(run))) return;
    } else {
      if (!failure.isOverflow || hasMadeRoom || !(await makeRoom(run))) return endFailed(run, failure.reason);
      hasMadeRoom = true;
    }
  }
}

/** Whether something is left to send once the turn is over. Nothing can be said unheard between its `false` and the end. */
async function goesOn(run: Run): Promise<boolean> {
  const { parts } = run;
  const hasCalls = parts.ledger.hasCalls;
  const due = await isCompactionDue(run, !hasCalls);
  if (due !== undefined && parts.compaction !== undefined) await compact(run, due, parts.compaction);
  if (hasCalls) return true;
  await run.interruption.until(run.outbox.drained());
  if (!parts.inbox.isEmpty) return true;
  parts.inbox.close();
  return false;
}

/**
 * @returns `undefined` once it is committed and its calls have their outputs.
 * @throws Interrupted
 */
async function runTurn(run: Run): Promise<TurnFailure | undefined> {
  const { parts, interruption } = run;
  let tries = noTries;
  for (;;) {
    const driver = new TurnDriver({
      environment: parts.environment,
      approve: run.approve,
      recorder: parts.recorder,
      interruption,
      build: parts.build,
      knownChildren: parts.knownChildren,
    });
    const { outcome, verdict } = await runAttempt(run, {
      purpose: "turn",
      input: () => parts.ledger.requestInput(),
      onCall: (call) => driver.add(call),
      tries,
    });
    driver.endStream();
    const mayRetry = verdict.retryInMs !== undefined;
    if (mayRetry) await parts.wait.sleep(parts.clock, verdict.retryInMs ?? 0, interruption);
    if (verdict.status !== "completed") driver.withdraw();
    await interruption.until(driver.settled);
    if (verdict.status === "completed") return undefined;
    if (!mayRetry) {
      const reason = verdict.errorMessage ?? `the request ended as ${verdict.status}`;
      return { reason, isOverflow: outcome.contextOverflow === true };
    }
    tries = countTry(tries, outcome);
    await deliverSteering(run);
  }
}

/** Waits until the reader has reacted to everything he was shown, then writes what has ended and was said meanwhile. */
async function deliverSteering(run: Run): Promise<void> {
  await run.interruption.until(run.outbox.drained());
  const { inbox, reports, recorder, build } = run.parts;
  if (!reports.isEmpty || !inbox.isEmpty) {
    // Together: an interrupt in the middle must not lose the rest.
    const reported = recordReports(run);
    await Promise.all([reported, ...inbox.drain().map((text) => recorder.record(build.userText(steeringText(text))))]);
  }
  run.interruption.check();
}

/** What is owed, steering included, is written and stays owed. Nothing is accepted once the reader can see the end. */
async function stopAtMaxTurns(run: Run): Promise<void> {
  const { inbox, recorder, build, limits } = run.parts;
  while (!inbox.isEmpty) await deliverSteering(run);
  inbox.close();
  await recorder.record(
    build.assistantText(`[reached max turns (${limits.maxTurns}); stopping]`, { stopReason: "failed" }),
  );
  await run.interruption.until(run.outbox.drained());
}

async function endFailed(run: Run, reason: string): Promise<void> {
  const { inbox, recorder, build } = run.parts;
  await run.interruption.until(run.outbox.drained());
  await recorder.record(build.abortEvent(reason, inbox.close()));
}
