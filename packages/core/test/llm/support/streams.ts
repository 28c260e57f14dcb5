/** Answers of each protocol as their providers write them, and a context that asks for them. */
import { systemClock } from "@coxswain/core";
import { GenerativeModel, type GenerativeModelOptions } from "../../../src/llm/context/generative-model.ts";
import type { ModelSettings } from "../../../src/llm/model-settings.ts";
import { createLanguageModel, type CreateLanguageModelOptions } from "../../../src/llm/create-language-model.ts";
import { generousLimits } from "./generate.ts";

export const protocols = ["openai-chat", "openai-responses", "anthropic", "gemini"] as const;
export type WireProtocol = (typeof protocols)[number];

export const testKey = "test-key-0123456789";

export interface CallOnWire {
  id: string;
  name: string;
  /** JSON. */
  arguments: string;
}

export type Block =
  | { text: string }
  | { thinking: string; signature?: string }
  | { call: CallOnWire }
  /** Begun, and not ended. Gemini sends whole calls only: there it is one that goes on. */
  | { cutCall: CallOnWire };

/** Tokens; `input` is everything that went in. */
export interface UsageOnWire {
  input: number;
  cached?: number;
  cacheWritten?: number;
  /** Thinking included. */
  output: number;
  thinking?: number;
}

export interface End {
  reason: "stop" | "calls" | "length" | "filter";
  usage?: UsageOnWire;
}

const usualUsage: UsageOnWire = { input: 20, output: 5 };

/** The events of an answer, in order. Without an end it stops after its last block. */
export function answer(protocol: WireProtocol, blocks: readonly Block[], end?: End): string[] {
  return writers[protocol](blocks, end);
}

/** A whole answer: `answer` as one body, with the end "stop" unless told otherwise. */
export function answerBody(protocol: WireProtocol, blocks: readonly Block[], end: End = { reason: "stop" }): string {
  return answer(protocol, blocks, end).join("");
}

export function event(data: unknown, name?: string): string {
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${JSON.stringify(data)}\n\n`;
}

/** An event that names its kind twice, as two of the protocols have it. */
export function namedEvent(data: { type: string } & Record<string, unknown>): string {
  return event(data, data.type);
}

export function settingsFor(protocol: WireProtocol, baseUrl: string): ModelSettings {
  return {
    provider: "local",
    modelId: "test-model",
    protocol,
    baseUrl,
    apiKey: testKey,
    contextWindow: 0,
    vision: true,
  };
}

/** Through everything that a configured model goes through. */
export async function contextFor(
  protocol: WireProtocol,
  baseUrl: string,
  options: Partial<GenerativeModelOptions & CreateLanguageModelOptions & { settings: Partial<ModelSettings> }> = {},
): Promise<GenerativeModel> {
  const { clock, scenarioPath, env = {}, fetch, settings, ...rest } = options;
  const model = await createLanguageModel(
    { ...settingsFor(protocol, baseUrl), ...settings },
    { clock, scenarioPath, env, fetch },
  );
  return new GenerativeModel({
    model,
    systemPrompt: "Be brief.",
    limits: generousLimits,
    clock: clock ?? systemClock,
    ...rest,
  });
}

type Writer = (blocks: readonly Block[], end: End | undefined) => string[];

const writers: Record<WireProtocol, Writer> = {
  "openai-chat": writeChat,
  "openai-responses": writeResponses,
  anthropic: writeAnthropic,
  gemini: writeGemini,
};

function writeChat(blocks: readonly Block[], end: End | undefined): string[] {
  const chunk = (fields: Record<string, unknown>) => event({ id: "c1", model: "test-model", ...fields });
  const delta = (fields: Record<string, unknown>, reason: string | null = null) =>
    chunk({ choices: [{ index: 0, delta: fields, finish_reason: reason }] });
  let calls = -1;
  const events = blocks.map((block) => {
    if ("text" in block) return delta({ content: block.text });
    if ("thinking" in block) return delta({ reasoning_content: block.thinking });
    const { id, name, arguments: text } = "call" in block ? block.call : block.cutCall;
    calls += 1;
    return delta({ tool_calls: [{ index: calls, id, type: "function", function: { name, arguments: text } }] });
  });
  if (end === undefined) return events;
  const { input, cached = 0, output, thinking = 0 } = end.usage ?? usualUsage;
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    prompt_tokens_details: { cached_tokens: cached },
    completion_tokens_details: { reasoning_tokens: thinking },
  };
  const word = { stop: "stop", calls: "tool_calls", length: "length", filter: "content_filter" }[end.reason];
  return [...events, delta({}, word), chunk({ choices: [], usage }), "data: [DONE]\n\n"];
}

function writeResponses(blocks: readonly Block[], end: End | undefined): string[] {
  let sequence = 0;
  const write = (data: { type: string } & Record<string, unknown>) =>
    namedEvent({ ...data, sequence_number: sequence++ });
  const response = (fields: Record<string, unknown>) => ({
    id: "resp_1",
    object: "response",
    created_at: 1_700_000_000,
    model: "test-model",
    output: [],
    ...fields,
  });
  const events = [write({ type: "response.created", response: response({ status: "in_progress" }) })];
  for (const [index, block] of blocks.entries()) {
    events.push(...responsesItem(index, block).map((data) => write({ output_index: index, ...data })));
  }
  if (end === undefined) return events;
  const { input, cached = 0, output, thinking = 0 } = end.usage ?? usualUsage;
  const usage = {
    input_tokens: input,
    input_tokens_details: { cached_tokens: cached },
    output_tokens: output,
    output_tokens_details: { reasoning_tokens: thinking },
    total_tokens: input + output,
  };
  const cause = { stop: undefined, calls: undefined, length: "max_output_tokens", filter: "content_filter" }[
    end.reason
  ];
  const status = cause === undefined ? "completed" : "incomplete";
  const details = cause === undefined ? null : { reason: cause };
  return [
    ...events,
    write({ type: `response.${status}`, response: response({ status, incomplete_details: details, usage }) }),
  ];
}

function responsesItem(index: number, block: Block): ({ type: string } & Record<string, unknown>)[] {
  if ("text" in block) {
    const item = { id: `msg_${index}`, type: "message", role: "assistant" };
    const content = [{ type: "output_text", text: block.text, annotations: [] }];
    const place = { item_id: item.id, content_index: 0 };
    return [
      { type: "response.output_item.added", item: { ...item, status: "in_progress", content: [] } },
      { type: "response.output_text.delta", ...place, delta: block.text },
      { type: "response.output_text.done", ...place, text: block.text },
      { type: "response.output_item.done", item: { ...item, status: "completed", content } },
    ];
  }
  if ("thinking" in block) {
    const item = { id: `rs_${index}`, type: "reasoning", encrypted_content: block.signature ?? null };
    const place = { item_id: item.id, summary_index: 0 };
    const part = { type: "summary_text", text: block.thinking };
    return [
      { type: "response.output_item.added", item: { ...item, summary: [] } },
      { type: "response.reasoning_summary_part.added", ...place, part: { type: "summary_text", text: "" } },
      { type: "response.reasoning_summary_text.delta", ...place, delta: block.thinking },
      { type: "response.reasoning_summary_part.done", ...place, part },
      { type: "response.output_item.done", item: { ...item, summary: [part] } },
    ];
  }
  const { id, name, arguments: text } = "call" in block ? block.call : block.cutCall;
  const item = { id: `fc_${index}`, type: "function_call", call_id: id, name };
  const events = [
    { type: "response.output_item.added", item: { ...item, status: "in_progress", arguments: "" } },
    { type: "response.function_call_arguments.delta", item_id: item.id, delta: text },
  ];
  if ("cutCall" in block) {
    return [...events, { type: "response.output_item.done", item: { ...item, status: "incomplete", arguments: text } }];
  }
  return [
    ...events,
    { type: "response.function_call_arguments.done", item_id: item.id, arguments: text },
    { type: "response.output_item.done", item: { ...item, status: "completed", arguments: text } },
  ];
}

function writeAnthropic(blocks: readonly Block[], end: End | undefined): string[] {
  const { input, cached = 0, cacheWritten = 0, output } = end?.usage ?? usualUsage;
  const usage = {
    input_tokens: input - cached - cacheWritten,
    cache_creation_input_tokens: cacheWritten,
    cache_read_input_tokens: cached,
    output_tokens: 1,
  };
  const message = { id: "msg_1", type: "message", role: "assistant", model: "test-model", content: [] };
  const events = [
    namedEvent({ type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null, usage } }),
    namedEvent({ type: "ping" }),
  ];
  for (const [index, block] of blocks.entries()) {
    const { start, deltas } = anthropicBlock(block);
    events.push(namedEvent({ type: "content_block_start", index, content_block: start }));
    for (const delta of deltas) events.push(namedEvent({ type: "content_block_delta", index, delta }));
    // A block that the limit cuts is closed like any other.
    if (!("cutCall" in block) || end !== undefined) events.push(namedEvent({ type: "content_block_stop", index }));
  }
  if (end === undefined) return events;
  const word = { stop: "end_turn", calls: "tool_use", length: "max_tokens", filter: "refusal" }[end.reason];
  return [
    ...events,
    namedEvent({
      type: "message_delta",
      delta: { stop_reason: word, stop_sequence: null },
      usage: { output_tokens: output },
    }),
    namedEvent({ type: "message_stop" }),
  ];
}

function anthropicBlock(block: Block): { start: unknown; deltas: unknown[] } {
  if ("text" in block) return { start: { type: "text", text: "" }, deltas: [{ type: "text_delta", text: block.text }] };
  if ("thinking" in block) {
    const deltas = [
      { type: "thinking_delta", thinking: block.thinking },
      { type: "signature_delta", signature: block.signature ?? "SIG==" },
    ];
    return { start: { type: "thinking", thinking: "", signature: "" }, deltas };
  }
  const { id, name, arguments: text } = "call" in block ? block.call : block.cutCall;
  const deltas = [
    { type: "input_json_delta", partial_json: "" },
    { type: "input_json_delta", partial_json: text },
  ];
  return { start: { type: "tool_use", id, name, input: {} }, deltas };
}

function writeGemini(blocks: readonly Block[], end: End | undefined): string[] {
  const { input, cached = 0, output, thinking = 0 } = end?.usage ?? usualUsage;
  const usageMetadata = {
    promptTokenCount: input,
    cachedContentTokenCount: cached,
    candidatesTokenCount: output - thinking,
    thoughtsTokenCount: thinking,
    totalTokenCount: input + output,
  };
  const chunk = (candidate: Record<string, unknown>) =>
    event({ candidates: [{ index: 0, ...candidate }], modelVersion: "test-model", responseId: "r_1", usageMetadata });
  const events = blocks.map((block) => chunk({ content: { role: "model", parts: [geminiPart(block)] } }));
  if (end === undefined) return events;
  const word = { stop: "STOP", calls: "STOP", length: "MAX_TOKENS", filter: "SAFETY" }[end.reason];
  return [...events, chunk({ content: { role: "model", parts: [{ text: "" }] }, finishReason: word })];
}

function geminiPart(block: Block): Record<string, unknown> {
  if ("text" in block) return { text: block.text };
  if ("thinking" in block) {
    return { text: block.thinking, thought: true, ...(block.signature && { thoughtSignature: block.signature }) };
  }
  if ("cutCall" in block)
    return { functionCall: { id: block.cutCall.id, name: block.cutCall.name, willContinue: true } };
  const { id, name, arguments: text } = block.call;
  return { functionCall: { id, name, args: JSON.parse(text) as unknown } };
}
