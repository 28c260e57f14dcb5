/** The built-in model without a network: plays a scenario, and really calls tools. */
import { setImmediate as nextLoop } from "node:timers/promises";
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FinishReason,
  LanguageModelV3Prompt,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from "@ai-sdk/provider";
import { readContextSummary } from "@coxswain/protocol";
import type { Clock } from "../../engine/ports.ts";
import { ProviderFault } from "../fault/provider-fault.ts";
import { BatchedPartStream, type PartBatch, type PartBatches } from "../part-batches.ts";
import { streamingModel } from "../streaming-model.ts";
import { withProcessId } from "./placeholders.ts";
import type { Scenario, ScenarioStep } from "./scenario.ts";

export interface OfflineModelOptions {
  scenario: Scenario;
  clock: Clock;
}

const introduction = "[This is Coxswain's built-in offline model: it follows a scenario, it does not think.]";
const closing = "The scenario is over: the offline model has nothing more to say.";
const summaryWords = /steps 1 to (\d{1,6}) of its scenario/;

function summaryAfter(steps: number): string {
  const done = steps === 0 ? "its scenario has not begun" : `steps 1 to ${steps} of its scenario are behind us`;
  return `[summary]\nSummary by the offline model: ${done}. Go on with the next step.\n[/summary]`;
}

/** Steps are counted for each model made here: one a request, a failed one too. A summary takes none. */
export function createOfflineModel({ scenario, clock }: OfflineModelOptions): LanguageModelV3 {
  let position = 0;
  const nextStep = (options: LanguageModelV3CallOptions): ScenarioStep => {
    if (position === 0) position = stepsBehind(options.prompt);
    if (options.toolChoice?.type === "none") return { text: summaryAfter(position) };
    const step = scenario.steps[position] ?? { text: closing };
    const isFirst = position === 0;
    position += 1;
    if (!isFirst) return step;
    return { ...step, text: step.text === undefined ? `${introduction}\n` : `${introduction}\n${step.text}` };
  };
  const stream = (options: LanguageModelV3CallOptions): BatchedPartStream => {
    const callPrefix = `offline_${position + 1}`;
    const step = withProcessId(nextStep(options), options.prompt);
    return new BatchedPartStream(new StepPlayer(step, callPrefix, options, clock));
  };
  return streamingModel({
    provider: "offline",
    modelId: "scenario",
    supportedUrls: {},
    doStream: async (options) => ({ stream: stream(options) }),
  });
}

/** A resumed conversation has some: those that its summary tells of, and one for each answer since. */
function stepsBehind(prompt: LanguageModelV3Prompt): number {
  const answers = prompt.filter(({ role }) => role === "assistant").length;
  const texts = prompt.flatMap(({ role, content }) => (role === "user" ? content : []));
  const summary = texts.findLast((part) => part.type === "text" && readContextSummary(part.text) !== undefined);
  const [, told = "0"] = (summary?.type === "text" && summaryWords.exec(summary.text)) || [];
  return answers + Number(told);
}

/** Gives one word a turn of the event loop, so that it streams as a real model does. */
class StepPlayer implements PartBatches {
  readonly #batches: Iterator<PartBatch>;
  readonly #delayMs: number;
  readonly #clock: Clock;
  readonly #signal: AbortSignal | undefined;
  #isStarted = false;
  #isCancelled = false;

  constructor(step: ScenarioStep, callPrefix: string, options: LanguageModelV3CallOptions, clock: Clock) {
    this.#batches = batchesOfStep(step, callPrefix, options);
    this.#delayMs = step.delayMs ?? 0;
    this.#clock = clock;
    this.#signal = options.abortSignal;
  }

  async next(): Promise<PartBatch | undefined> {
    if (this.#isStarted) await nextLoop();
    else if (this.#delayMs > 0) await this.#clock.sleep(this.#delayMs, this.#signal);
    this.#isStarted = true;
    if (this.#isCancelled) return undefined;
    if (this.#signal?.aborted === true) throw new ProviderFault({ kind: "aborted" });
    const { done, value } = this.#batches.next();
    return done === true ? undefined : value;
  }

  cancel(): void {
    this.#isCancelled = true;
  }
}

function* batchesOfStep(
  step: ScenarioStep,
  callPrefix: string,
  options: LanguageModelV3CallOptions,
): Generator<PartBatch, undefined> {
  const { thinking = "", text = "", calls = [], end = "completed" } = step;
  if (thinking !== "") {
    for (const delta of words(thinking)) yield [{ type: "reasoning-delta", id: "thinking", delta }];
    yield [{ type: "reasoning-end", id: "thinking" }];
  }
  if (text !== "") {
    for (const delta of words(text)) yield [{ type: "text-delta", id: "text", delta }];
    yield [{ type: "text-end", id: "text" }];
  }
  for (const [index, call] of calls.entries()) {
    const id = `${callPrefix}_${index + 1}`;
    yield [{ type: "tool-input-start", id, toolName: call.name }];
    for (const delta of words(call.arguments)) yield [{ type: "tool-input-delta", id, delta }];
    const done: LanguageModelV3StreamPart = {
      type: "tool-call",
      toolCallId: id,
      toolName: call.name,
      input: call.arguments,
    };
    yield [{ type: "tool-input-end", id }, done];
  }
  const unified: LanguageModelV3FinishReason["unified"] = calls.length > 0 ? "tool-calls" : "stop";
  const usage = estimateUsage(options, thinking + text + calls.map((call) => call.arguments).join(""));
  const finish: LanguageModelV3StreamPart = { type: "finish", finishReason: { unified, raw: unified }, usage };
  if (end === "completed") yield [finish];
  else {
    const message = `The scenario plays a request that ends as ${end}.`;
    yield [{ type: "error", error: new ProviderFault({ kind: "told", status: end, message }) }, finish];
  }
  return undefined;
}

/** Each with the blanks after it, so that joined they are the text. */
function words(text: string): string[] {
  return text.match(/\s*\S+\s*/g) ?? [text];
}

/** Some four characters a token, as if a real model had counted. */
function estimateUsage(options: LanguageModelV3CallOptions, answer: string): LanguageModelV3Usage {
  const input = Math.ceil(JSON.stringify(options.prompt).length / 4);
  const output = Math.ceil(answer.length / 4);
  return {
    inputTokens: { total: input, noCache: input, cacheRead: 0, cacheWrite: 0 },
    outputTokens: { total: output, text: output, reasoning: 0 },
  };
}
