/** How an interrupted run ends: at once, with everything it opened closed, and `abort` as its last word. */
import { engineDefaults } from "./defaults.ts";
import { eventLoopTurn } from "./event-loop.ts";
import { closeModelSegments } from "./request.ts";
import type { Run } from "./run.ts";

/** Arranges what must happen in the very moment of the interrupt. @returns Ends what this has begun. */
export function watchForInterrupt(run: Run): () => void {
  // Made when it is needed: firing one costs more than a write, and nearly every run ends without an interrupt.
  let end: (() => void) | undefined;
  run.interruption.onFire(() => {
    const timer = new AbortController();
    end = () => timer.abort("the run is over");
    run.undelivered = run.parts.inbox.close();
    const traceWait = run.parts.clock.sleep(engineDefaults.interruptTraceWaitMs, timer.signal);
    void traceWait.then(() => {
      if (!timer.signal.aborted) run.parts.recorder.abandonTrace();
    });
  });
  return () => end?.();
}

export async function endInterrupted(run: Run): Promise<void> {
  const { recorder, build } = run.parts;
  const request = run.request;
  // What the model had said before the signal may be one turn of the event loop away.
  if (request !== undefined) await Promise.race([request.stopped, eventLoopTurn()]);
  request?.abandon();
  await recorder.idle();
  await closeModelSegments(run, "aborted");
  for (const message of recorder.segments.close("aborted", build, {
    outputNote: engineDefaults.interruptedPlaceholder,
  })) {
    await recorder.take(message);
  }
  if (request !== undefined) await recorder.record(build.requestEnd(request.isCommitted ? "completed" : "aborted"));
  run.request = undefined;
  if (run.compacting !== undefined) {
    await recorder.record(build.compactionEnd({ ...run.compacting, status: "aborted" }));
    run.compacting = undefined;
  }
  await recorder.record(build.abortEvent(undefined, run.undelivered));
}
