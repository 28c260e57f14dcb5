import type { LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import { setImmediate as nextLoop } from "node:timers/promises";
import { ManualClock, scriptedLanguageModel, type ScriptedModelStep } from "@coxswain/testing";
import { GenerativeModel, type GenerativeModelOptions } from "../../../src/llm/context/generative-model.ts";

export const limits = { totalMs: 10_000, firstContentMs: 3_000, idleMs: 1_000 };

export const usage: LanguageModelV3Usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
export const finish = (unified: "stop" | "tool-calls" | "length" | "other" | "error" = "stop", raw?: string) =>
  ({ type: "finish", finishReason: { unified, raw }, usage }) satisfies LanguageModelV3StreamPart;
export const text = (delta: string, id = "0"): LanguageModelV3StreamPart => ({ type: "text-delta", id, delta });
export const never = new Promise<never>(() => undefined);

export function context(
  steps: readonly ScriptedModelStep[],
  options: Partial<GenerativeModelOptions> & { provider?: string; modelId?: string } = {},
) {
  const model = scriptedLanguageModel(steps, { provider: options.provider, modelId: options.modelId });
  const clock = new ManualClock();
  return { model, clock, llm: new GenerativeModel({ model, systemPrompt: "", limits, clock, ...options }) };
}

/** Lets everything that is ready happen. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextLoop();
}
