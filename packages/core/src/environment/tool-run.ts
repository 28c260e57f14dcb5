/** One call of one tool, framed: its fragments, then exactly one complete output, whatever the tool does. */
import type { OmniMessage, StopReason } from "@coxswain/protocol";
import type { CallOutput } from "./call-output.ts";
import type { CallStop } from "./call-stop.ts";
import type { ExecuteReturn, ToolResult } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { readDelta, readToolResult } from "./tool-result.ts";

export interface ToolRun {
  output: CallOutput;
  stop: CallStop;
  timeoutMs: number;
  /** Checks the arguments and starts the tool; a string says why it was not started. */
  start: () => Promise<{ returned: ExecuteReturn } | string>;
}

interface RunEnd {
  result: ToolResult;
  /** The tool threw, or was not started. */
  failure?: string;
}

/** A tool that gives deltas without ever waiting would stop every timer: after so many, others get their turn. */
const deltasPerTurn = 64;

export async function* runTool(run: ToolRun): AsyncGenerator<OmniMessage> {
  const { output, stop } = run;
  let end: RunEnd = { result: { output: "" } };
  try {
    if (stop.cause === undefined) end = yield* driven(run);
  } catch (error) {
    end = { result: { output: "" }, failure: failureText(error) };
  }
  const stopReason = stopReasonOf(stop, end);
  const fragments = output.end(stopReason);
  if (end.result.output !== "") output.replace(end.result.output);
  if (end.failure !== undefined && stop.cause === undefined) output.append(end.failure);
  const notes = [end.result.note ?? "", stopNote(run)];
  const images = end.result.images?.filter((image) => image.startsWith("data:"));
  const complete = output.complete({ notes, images, stopReason });
  stop.finish();
  yield* fragments;
  yield complete;
}

async function* driven(run: ToolRun): AsyncGenerator<OmniMessage, RunEnd> {
  const nothing: RunEnd = { result: { output: "" } };
  const started = await run.stop.settled(run.start());
  if (started === undefined) return nothing;
  if (typeof started.value === "string") return { result: { output: "" }, failure: started.value };
  const { returned } = started.value;
  if (isGenerator(returned)) return { result: yield* readGenerator(run, returned) };
  const settled = await run.stop.settled(Promise.resolve(returned));
  return settled === undefined ? nothing : { result: readToolResult(settled.value) };
}

async function* readGenerator(
  run: ToolRun,
  generator: AsyncGenerator<string, unknown>,
): AsyncGenerator<OmniMessage, ToolResult> {
  let ended = false;
  try {
    for (let count = 1; ; count++) {
      const step = await run.stop.settled(generator.next());
      if (step === undefined) return { output: "" };
      if (step.value.done === true) {
        ended = true;
        return readToolResult(step.value.value);
      }
      yield* run.output.push(readDelta(step.value.value));
      if (count % deltasPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    if (!ended) abandon(generator);
  }
}

/** A generator that does not answer cannot be waited for, and what it says later concerns nobody. */
function abandon(generator: AsyncGenerator<string, unknown>): void {
  generator.return(undefined).catch(() => undefined);
}

function isGenerator(value: ExecuteReturn): value is AsyncGenerator<string, ToolResult | string | undefined | void> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value;
}

function stopReasonOf(stop: CallStop, end: RunEnd): StopReason {
  if (stop.cause !== undefined) return stop.cause === "interrupt" ? "aborted" : "timeout";
  return end.failure === undefined ? (end.result.stopReason ?? "completed") : "failed";
}

function stopNote(run: ToolRun): string {
  if (run.stop.cause === "interrupt") return "[interrupted: tool aborted by user]";
  if (run.stop.cause === "timeout") return `[timed out after ${run.timeoutMs / 1000} s]`;
  return "";
}

function failureText(error: unknown): string {
  return error instanceof ToolError ? error.message : `The tool failed: ${errorText(error)}`;
}

function errorText(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  return typeof error === "string" ? error : (JSON.stringify(error) ?? String(error));
}
