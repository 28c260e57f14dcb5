/** Usage of a chat completion. Cached tokens are part of the prompt's count here, and are counted once. */
import type { LanguageModelV3Usage } from "@ai-sdk/provider";
import { countOf, isRecord, type JsonRecord } from "../../shared/json.ts";

export const unknownUsage: LanguageModelV3Usage = {
  inputTokens: { total: undefined, noCache: undefined, cacheRead: undefined, cacheWrite: undefined },
  outputTokens: { total: undefined, text: undefined, reasoning: undefined },
};

export function readUsage(usage: JsonRecord): LanguageModelV3Usage {
  const promptDetails = recordOf(usage["prompt_tokens_details"] ?? usage["input_tokens_details"]);
  const answerDetails = recordOf(usage["completion_tokens_details"] ?? usage["output_tokens_details"]);
  const all = countOf(usage["total_tokens"]);
  const answer = countOf(usage["completion_tokens"]) ?? countOf(usage["output_tokens"]);
  const prompt = countOf(usage["prompt_tokens"]) ?? countOf(usage["input_tokens"]) ?? difference(all, answer);
  const reasoning = countOf(answerDetails["reasoning_tokens"]) ?? countOf(usage["reasoning_tokens"]);
  if (prompt === undefined && answer === undefined) return unknownUsage;
  const cacheRead =
    countOf(promptDetails["cached_tokens"]) ??
    countOf(usage["cached_tokens"]) ??
    countOf(usage["prompt_cache_hit_tokens"]) ??
    0;
  const cacheWrite = countOf(promptDetails["cache_write_tokens"]) ?? 0;
  const output = answerTokens({ all, prompt, answer, reasoning });
  return {
    inputTokens: { total: prompt, noCache: difference(prompt, cacheRead + cacheWrite), cacheRead, cacheWrite },
    outputTokens: { total: output, text: difference(output, reasoning), reasoning },
    raw: usage as NonNullable<LanguageModelV3Usage["raw"]>,
  };
}

interface Told {
  all: number | undefined;
  prompt: number | undefined;
  answer: number | undefined;
  reasoning: number | undefined;
}

/** Some servers count reasoning beside the answer; the total shows it. */
function answerTokens({ all, prompt, answer, reasoning }: Told): number | undefined {
  if (answer === undefined) return difference(all, prompt);
  const isBeside = reasoning !== undefined && all !== undefined && all === (prompt ?? 0) + answer + reasoning;
  return isBeside ? answer + reasoning : answer;
}

function recordOf(value: unknown): JsonRecord {
  return isRecord(value) ? value : {};
}

function difference(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? undefined : Math.max(0, a - b);
}
