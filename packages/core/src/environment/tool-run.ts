/** One call of one tool, framed: its fragments, then exactly one complete output, whatever the tool does. */
import type { OmniMessage, StopReason } from "@coxswain/protocol";
import { engineDefaults } from "../engine/defaults.ts";
import type { CallOutput } from "./call-output.ts";
import type { CallStop } from "./call-stop.ts";
import type { ToolResult } from "./tool.ts";
import { ToolError } from "./tool-error.ts";
import { readDelta, readToolResult } from "./tool-result.ts";

export interface ToolRun {
  output: CallOutput;
  timeoutMs: number;
  open: () => CallStop;
  /** Checks the arguments and starts the tool; a string says why it was not started. */
  start: (stop: CallStop) => Promise<{ returned: unknown } | string>;
  /** Called once, also when the reader leaves early. */
  close: (stop: CallStop) => void;
}

interface RunEnd {
  result: ToolResult;
  /** The tool threw, or was not started. */
  failure?: string;
}

/** A tool that gives deltas without ever waiting would stop every timer: after so many, others get their turn. */
const deltasPerTurn = 64;

/** Of a tool that streams: its result is known when its generator ends. */
interface Streaming {
  generator: AsyncGenerator<unknown, unknown>;
}

export async function* runTool(run: ToolRun): AsyncGenerator<OmniMessage> {
  const stop = run.open();
  try {
    let end: RunEnd | Streaming = nothing;
    try {
      if (stop.cause === undefined) end = await begun(run, stop);
      if ("generator" in end) end = { result: yield* readGenerator(run, stop, end.generator) };
    } catch (error) {
      end = { result: nothing.result, failure: failureText(error) };
    }
    yield* framed(run, stop, end);
  } finally {
    run.close(stop);
  }
}

/** The last fragments, if there were any, and the one complete message. */
function framed({ output, timeoutMs }: ToolRun, stop: CallStop, end: RunEnd): OmniMessage[] {
  const stopReason = stopReasonOf(stop, end);
  const fragments = output.end(stopReason);
  if (end.result.output !== "") output.replace(end.result.output);
  if (end.failure !== undefined && stop.cause === undefined) output.append(end.failure);
  const notes = [end.result.note ?? "", stopNote(stop, timeoutMs)];
  const images = end.result.images?.filter((image) => image.startsWith("data:"));
  const complete = output.complete({ notes, images, stopReason });
  stop.finish();
  return [...fragments, complete];
}

const nothing: RunEnd = { result: { output: "" } };

async function begun(run: ToolRun, stop: CallStop): Promise<RunEnd | Streaming> {
  const started = await stop.settled(run.start(stop));
  if (started === undefined) return nothing;
  if (typeof started.value === "string") return { result: nothing.result, failure: started.value };
  const { returned } = started.value;
  if (isGenerator(returned)) return { generator: returned };
  const settled = await stop.settled(Promise.resolve(returned));
  return settled === undefined ? nothing : { result: readToolResult(settled.value) };
}

async function* readGenerator(
  { output }: ToolRun,
  stop: CallStop,
  generator: AsyncGenerator<unknown, unknown>,
): AsyncGenerator<OmniMessage, ToolResult> {
  let ended = false;
  try {
    for (let count = 1; ; count++) {
      const step = await stop.settled(Promise.resolve(generator.next()));
      if (step === undefined) return nothing.result;
      if (step.value.done === true) {
        ended = true;
        return readToolResult(step.value.value);
      }
      yield* output.push(readDelta(step.value.value));
      if (count % deltasPerTurn === 0) await new Promise((resolve) => setImmediate(resolve));
    }
  } finally {
    if (!ended) abandon(generator);
  }
}

/** A generator that does not answer cannot be waited for, and what it says later concerns nobody. */
function abandon(generator: AsyncGenerator<unknown, unknown>): void {
  const left = async (): Promise<unknown> => generator.return(undefined);
  left().catch(() => undefined);
}

function isGenerator(value: unknown): value is AsyncGenerator<unknown, unknown> {
  return typeof value === "object" && value !== null && Symbol.asyncIterator in value && "next" in value;
}

function stopReasonOf(stop: CallStop, end: RunEnd): StopReason {
  if (stop.cause !== undefined) return stop.cause === "interrupt" ? "aborted" : "timeout";
  return end.failure === undefined ? (end.result.stopReason ?? "completed") : "failed";
}

function stopNote(stop: CallStop, timeoutMs: number): string {
  if (stop.cause === "interrupt") return engineDefaults.interruptedPlaceholder;
  if (stop.cause === "timeout") return `[timed out after ${timeoutMs / 1000} s]`;
  return "";
}

function failureText(error: unknown): string {
  return error instanceof ToolError ? error.message : `The tool failed: ${errorText(error)}`;
}

function errorText(error: unknown): string {
  if (error instanceof Error) return error.message === "" ? error.name : error.message;
  return typeof error === "string" ? error : (JSON.stringify(error) ?? String(error));
}
