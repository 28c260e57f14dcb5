/** Everything that is written in front of a request: the new context's opening, the input, the tools. */
import { escapeBareMarkers, isSessionMeta, type OmniMessage, type SessionMetaPayload } from "@coxswain/protocol";
import { wordsOf } from "./error.ts";
import { record, type Run } from "./run.ts";

/**
 * Writes a run's input. Opens the next context first when a compaction has ended the last one, and looks the tools up
 * when this is the first run of the process.
 *
 * @throws Interrupted once the input is written
 */
export async function writeInput(run: Run, newMessages: readonly OmniMessage[]): Promise<void> {
  const { recorder } = run.parts;
  const wasRotated = run.parts.ledger.fromCompaction;
  // What has ended before the person spoke comes first.
  if (wasRotated) await openContext(run, newMessages);
  else {
    const reported = recordReports(run);
    await Promise.all(newMessages.map((message) => recorder.record(message, { isShown: false })));
    await reported;
  }
  run.interruption.check();
  if (!wasRotated) await readyTools(run);
}

/**
 * Nothing, unless a compaction has ended the context before: then the next file is opened, with the summary and whatever
 * was still owed in front of the new input.
 *
 * @throws Interrupted
 */
export async function openContext(run: Run, newMessages: readonly OmniMessage[] = []): Promise<void> {
  const { ledger, recorder, build } = run.parts;
  if (!ledger.fromCompaction) return;
  const summary = ledger.pendingSummary;
  // Records of their own: a sink may know the objects from the context before, and takes none of them twice.
  const owed = ledger.owedInput().map((message) => ({ ...message }));
  await recorder.rotate();
  const meta = ledger.meta !== null && isSessionMeta(ledger.meta) ? ledger.meta.payload : unnamed;
  await recorder.record(build.sessionMeta(meta));
  await listTools(run);
  const opening = [...(summary === undefined ? [] : [summary]), ...owed];
  // Together: the first text makes it the newest context, and whatever a death left unwritten would be lost.
  const opened = opening.map((message) => recorder.record(message, { isShown: false }));
  const reported = recordReports(run);
  await Promise.all([
    ...opened,
    reported,
    ...newMessages.map((message) => recorder.record(message, { isShown: false })),
  ]);
  run.interruption.check();
}

/**
 * What background work has reported becomes input: the text for the model, then a line for whoever reads. A context that
 * has ended takes none.
 */
export async function recordReports({ parts }: Run): Promise<void> {
  const { reports, recorder, build, ledger } = parts;
  if (ledger.fromCompaction) return;
  // What a command printed must pass for nobody's words.
  await Promise.all(
    reports
      .drain()
      .flatMap(({ text, summary }) => [
        recorder.record(build.userText(escapeBareMarkers(text), { sender: "harness" }), { isShown: false }),
        recorder.record(build.notice("info", "background_ended", summary)),
      ]),
  );
}

/** Of an engine that was never told what Session it is of. */
const unnamed: SessionMetaPayload = {
  session_id: "",
  provider: "",
  model_id: "",
  model_context_window: 0,
  system_prompt: "",
  agent_state: "",
  workspace: "",
};

/** Connects and lists the tools, once in a process. @throws Interrupted */
export async function readyTools(run: Run): Promise<void> {
  if (run.parts.tools !== undefined) return;
  await listTools(run);
  run.interruption.check();
}

/** Tools that are known are written after an interrupt too: a context that a compaction began starts with them. */
async function listTools(run: Run): Promise<void> {
  const { parts, interruption } = run;
  const { environment, recorder, build } = parts;
  if (parts.tools === undefined) {
    try {
      await connect(run);
      parts.tools = await interruption.until(environment.listTools());
    } catch (error) {
      if (interruption.fired) return;
      const words = `no tool can be used: ${wordsOf(error)}`;
      await recorder.record(build.notice("error", "tools_unavailable", words));
      parts.tools = [];
    }
  }
  await recorder.record(build.toolListReady(parts.tools));
}

async function connect(run: Run): Promise<void> {
  const { environment } = run.parts;
  const connecting = environment.connect?.(run.interruption.signal);
  if (connecting === undefined) return;
  for (;;) {
    const result = await run.interruption.until(connecting.next());
    if (result.done === true) return;
    await record(run, result.value);
  }
}
