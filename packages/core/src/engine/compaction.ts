/** Makes a context small: by a summary of it, or by dropping it. The next input opens the new one. */
import { type CompactionReason, extractSummary, isPayload, type OmniMessage } from "@coxswain/protocol";
import { dueCompaction } from "./compaction-policy.ts";
import type { LLMInterface } from "./ports.ts";
import { runAttempt } from "./request.ts";
import { countTry, noTries } from "./retry.ts";
import { type CompactionParts, record, type Run } from "./run.ts";

type Summary = { ok: true } | { ok: false; reason: string };

/** Whether one is due now, and is now the time for it. Tells once when size alone would call for one in vain. */
export async function isCompactionDue(run: Run, isTaskEnd: boolean): Promise<CompactionReason | undefined> {
  const { parts } = run;
  if (parts.compaction === undefined) return undefined;
  const { settings } = parts.compaction;
  const due = dueCompaction(parts.ledger, settings);
  if (due === undefined || (settings.mode === "discard" && !isTaskEnd)) return undefined;
  if (due !== "off") return due;
  if (!parts.hasToldCompactionIsOff) {
    parts.hasToldCompactionIsOff = true;
    await record(
      run,
      parts.build.notice(
        "warning",
        "compaction_off",
        `the context is at ${parts.ledger.lastRequestTotal} tokens right after a compaction, so compacting again would not help; raise max_context_length (${settings.maxContextLength}) or offer fewer tools`,
      ),
    );
  }
  return undefined;
}

/**
 * @param owed What goes in front of the prompt. Default: all that is owed.
 * @returns Whether a new context is to be opened; on failure everything is as before.
 * @throws Interrupted
 */
export async function compact(
  run: Run,
  reason: CompactionReason,
  compaction: CompactionParts,
  owed: readonly OmniMessage[] = run.parts.ledger.owedInput(),
): Promise<boolean> {
  const { parts } = run;
  const { ledger, build } = parts;
  const { mode, prompt } = compaction.settings;
  run.compacting = { reason, mode };
  await record(
    run,
    build.compactionBegin({ reason, mode, context: ledger.lastRequestTotal, turns: ledger.sessionTurns }),
  );
  const summary: Summary = mode === "discard" ? { ok: true } : await summarize(run, owed, prompt);
  run.compacting = undefined;
  if (!summary.ok) {
    await record(run, build.compactionEnd({ reason, mode, status: "failed", error_message: summary.reason }));
    return false;
  }
  await parts.recorder.record(build.compactionEnd({ reason, mode, status: "completed" }));
  parts.llm = newModel(run, compaction);
  parts.hasToldCompactionIsOff = false;
  run.interruption.check();
  return true;
}

/** What cannot be opened now is opened with the next request, which fails if that fails too. */
function newModel({ parts }: Run, { createLLM }: CompactionParts): LLMInterface | undefined {
  try {
    return createLLM(parts.ledger.sessionTokens);
  } catch {
    return undefined;
  }
}

async function summarize(run: Run, owed: readonly OmniMessage[], prompt: string): Promise<Summary> {
  const { clock, limits, wait, build } = run.parts;
  const request: OmniMessage[] = [...owed];
  const add = async (text: string): Promise<void> => {
    const message = build.userText(text, { sender: "harness" });
    request.push(message);
    await record(run, message, { isShown: false });
  };
  await add(prompt);
  let tries = noTries;
  for (;;) {
    const reply: OmniMessage[] = [];
    const { outcome, verdict } = await runAttempt(run, {
      purpose: "summary",
      input: () => [...request],
      onCall: (call) => reply.push(call),
      onText: (message) => reply.push(message),
      tries,
    });
    tries = countTry(tries, outcome);
    if (verdict.status === "completed") {
      const problem = problemOf(reply);
      if (problem === undefined) return { ok: true };
      if (tries.attempts > limits.compactionMaxReconnects) return { ok: false, reason: problem };
      await add(`${problem} Answer with the summary alone, as text between [summary] and [/summary].`);
    } else if (verdict.retryInMs === undefined) {
      return { ok: false, reason: verdict.errorMessage ?? `the summary request ended as ${verdict.status}` };
    } else {
      await wait.sleep(clock, verdict.retryInMs, run.interruption);
    }
  }
}

/** What keeps a reply from being a summary. */
function problemOf(reply: readonly OmniMessage[]): string | undefined {
  if (reply.some((message) => isPayload(message, "tool_call"))) {
    return "The reply called a tool instead of summarizing; no tool was run.";
  }
  const text = reply.flatMap((message) => (isPayload(message, "text") ? [message.payload.text] : [])).join("\n\n");
  return extractSummary(text) === undefined ? "The reply held no summary." : undefined;
}
