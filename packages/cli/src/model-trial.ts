/** Asks a model for what every Session needs of it: an answer, a tool call, and an answer to the call's output. */
import type { LLMInterface, LLMOutcome } from "@coxswain/core";
import {
  isCompleted,
  isPayload,
  type OmniMessage,
  type TokenCounts,
  type ToolDefinition,
  toolCallOutput,
  userText,
} from "@coxswain/protocol";

export interface TrialStep {
  step: "answer" | "tool call" | "tool output";
  /** `no_call`, `no_text`: the request went well, but the model did not do it. Else how the request ended. */
  status: "ok" | "no_call" | "no_text" | Exclude<LLMOutcome["status"], "completed">;
  /** In the provider's words, where it gave any. */
  error?: string;
  text: string;
  calls: { name: string; arguments: string }[];
  /** From sending to the first part of an answer. */
  firstContentMs?: number;
  totalMs: number;
  usage?: TokenCounts;
}

export type ModelTrial = AsyncGenerator<TrialStep, void>;

export interface TrialOptions {
  /** A new context of the model. */
  open(context: { systemPrompt: string }): Promise<LLMInterface>;
  signal: AbortSignal;
  /** Milliseconds, of any beginning. */
  now(): number;
}

interface Asked {
  step: TrialStep;
  calls: OmniMessage[];
}

const systemPrompt = "You are being tested. Answer in one short sentence, and use a tool when you are asked to.";
const tool: ToolDefinition = {
  name: "look_up_word",
  description: "Looks up the word that is kept under a number.",
  parameters: { type: "object", properties: { number: { type: "integer" } }, required: ["number"] },
};
const toolOutput = "The word under 7 is: heron";

/** Ends after the first step that is not `ok`. */
export async function* tryModel(options: TrialOptions): ModelTrial {
  const greeting = [userText("Say hello in one short sentence.")];
  const { step: answer } = await ask("answer", await options.open({ systemPrompt }), greeting, undefined, options);
  if (answer.status === "ok" && answer.text.trim() === "" && answer.calls.length === 0) {
    answer.status = "no_text";
    answer.error = "the answer was empty";
  }
  yield answer;
  if (answer.status !== "ok") return;
  const context = await options.open({ systemPrompt });
  const request = [userText(`Call the tool ${tool.name} with the number 7, then tell me the word.`)];
  const { step: call, calls } = await ask("tool call", context, request, [tool], options);
  if (call.status === "ok" && calls.length === 0) {
    call.status = "no_call";
    call.error = "the model did not call the tool; an agent needs a model that does";
  }
  yield call;
  if (call.status !== "ok") return;
  const outputs = calls.flatMap((message) =>
    isPayload(message, "tool_call")
      ? [toolCallOutput({ output: toolOutput, toolCallId: message.payload.tool_call_id })]
      : [],
  );
  const { step: last } = await ask("tool output", context, outputs, [tool], options);
  yield last;
}

async function ask(
  name: TrialStep["step"],
  llm: LLMInterface,
  newMessages: OmniMessage[],
  tools: ToolDefinition[] | undefined,
  options: TrialOptions,
): Promise<Asked> {
  const step: TrialStep = { step: name, status: "ok", text: "", calls: [], totalMs: 0 };
  const calls: OmniMessage[] = [];
  const startedAtMs = options.now();
  const stream = llm.streamGenerate({ newMessages, tools, signal: options.signal });
  for (;;) {
    const { done, value } = await stream.next();
    if (done === true) {
      step.totalMs = Math.round(options.now() - startedAtMs);
      return { step: { ...step, ...ended(value) }, calls };
    }
    if (isPayload(value, "token_usage")) step.usage = value.payload.request;
    else if (value.type === "model_msg") step.firstContentMs ??= Math.round(options.now() - startedAtMs);
    if (isPayload(value, "text")) step.text += value.payload.text;
    if (!isPayload(value, "tool_call") || !isCompleted(value.payload)) continue;
    calls.push(value);
    step.calls.push({ name: value.payload.name, arguments: value.payload.arguments });
  }
}

function ended({ status, errorMessage, usage }: LLMOutcome): Partial<TrialStep> {
  if (status === "completed") return {};
  return {
    status,
    error: errorMessage ?? `the request ended as ${status}`,
    ...(usage === undefined ? {} : { usage }),
  };
}
