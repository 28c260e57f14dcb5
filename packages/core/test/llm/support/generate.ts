/** Drives one request and keeps what it gave. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  type CompleteModelPayload,
  type GenerateParameters,
  isCompleteModelMessage,
  isPartial,
  type LLMInterface,
  type LLMOutcome,
  type OmniMessage,
  PartialAggregator,
  systemClock,
  userText,
} from "@coxswain/core";
import { createChatCompletionsModel } from "../../../src/llm/chat-completions/model.ts";
import { GenerativeModel, type GenerativeModelOptions } from "../../../src/llm/context/generative-model.ts";
import type { AddressedSettings } from "../../../src/llm/model-settings.ts";

export interface Generated {
  messages: OmniMessage[];
  outcome: LLMOutcome;
}

export async function generate(llm: LLMInterface, parameters: Partial<GenerateParameters> = {}): Promise<Generated> {
  const messages: OmniMessage[] = [];
  const stream = llm.streamGenerate({ newMessages: [userText("hi")], ...parameters });
  for (;;) {
    const { done, value } = await stream.next();
    if (done === true) return { messages, outcome: value };
    messages.push(value);
  }
}

export function complete(messages: readonly OmniMessage[]): CompleteModelPayload[] {
  return messages.filter(isCompleteModelMessage).map((message) => message.payload);
}

export function texts(messages: readonly OmniMessage[]): string[] {
  return complete(messages).flatMap((payload) => (payload.type === "text" ? [payload.text] : []));
}

export function calls(messages: readonly OmniMessage[]): { id: string; name: string; arguments: string }[] {
  return complete(messages).flatMap((payload) =>
    payload.type === "tool_call"
      ? [{ id: payload.tool_call_id, name: payload.name, arguments: payload.arguments }]
      : [],
  );
}

/** What breaks the discipline of fragments: left open, or not equal to the complete message. */
export function undisciplined(messages: readonly OmniMessage[]): string[] {
  const problems: string[] = [];
  const aggregator = new PartialAggregator();
  const open = new Map<string, string>();
  for (const [index, message] of messages.entries()) {
    aggregator.push(message);
    if (isPartial(message)) {
      const { payload } = message;
      const key = payload.type === "partial_tool_call" ? payload.tool_call_id : payload.type;
      if (payload.event_type === "start") {
        if (open.has(key)) problems.push(`${key} started twice`);
        open.set(key, "");
      } else if (!open.has(key)) problems.push(`${key} has no start`);
      else open.set(key, (open.get(key) ?? "") + textOf(payload));
      if (payload.event_type !== "stop") continue;
      const next = messages[index + 1]?.payload;
      if (next === undefined || textOf(next) !== open.get(key))
        problems.push(`${key}: deltas differ from what follows`);
      if ((next as { stop_reason?: string }).stop_reason !== payload.stop_reason)
        problems.push(`${key}: reasons differ`);
      open.delete(key);
    }
  }
  if (open.size > 0 || aggregator.open().length > 0) problems.push(`left open: ${[...open.keys()].join(", ")}`);
  return problems;
}

function textOf(payload: OmniMessage["payload"]): string {
  switch (payload.type) {
    case "text":
    case "partial_text":
      return payload.text;
    case "thinking":
    case "partial_thinking":
      return payload.thinking;
    case "tool_call":
    case "partial_tool_call":
      return payload.arguments;
    default:
      return `no text: ${payload.type}`;
  }
}

export function chatSettings(baseUrl: string): AddressedSettings {
  return {
    provider: "local",
    modelId: "test-model",
    protocol: "openai-chat",
    baseUrl,
    apiKey: "test-key-0123456789",
    contextWindow: 0,
    vision: true,
  };
}

export const generousLimits = { totalMs: 600_000, firstContentMs: 300_000, idleMs: 120_000 };

export function chatContext(baseUrl: string, options: Partial<GenerativeModelOptions> = {}): GenerativeModel {
  return new GenerativeModel({
    model: options.model ?? createChatCompletionsModel({ settings: chatSettings(baseUrl) }),
    systemPrompt: "Be brief.",
    limits: generousLimits,
    clock: systemClock,
    ...options,
  });
}

export function wire(name: string): Promise<Buffer> {
  return readFile(fileURLToPath(new URL(`../wire/${name}.openai-chat.sse`, import.meta.url)));
}

/** A body of these chunks, and `[DONE]` unless told otherwise. */
export function sse(chunks: readonly unknown[], end = "data: [DONE]\n\n"): string {
  return chunks.map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join("") + end;
}

export function delta(fields: Record<string, unknown>, finishReason: string | null = null): unknown {
  return { id: "c1", model: "test-model", choices: [{ index: 0, delta: fields, finish_reason: finishReason }] };
}
