/** Token counts of a stream's `finish` part in the terms of the protocol. */
import type { LanguageModelV3Usage } from "@ai-sdk/provider";
import type { TokenCounts } from "@coxswain/protocol";

/** `undefined` when the provider told nothing. */
export function toTokenCounts(usage: LanguageModelV3Usage | undefined): TokenCounts | undefined {
  const prompt = usage?.inputTokens;
  const answer = usage?.outputTokens;
  const known = [prompt?.total, prompt?.noCache, prompt?.cacheRead, prompt?.cacheWrite, answer?.total];
  if (!known.some(isCount)) return undefined;
  const cacheRead = count(prompt?.cacheRead);
  const cacheWrite = count(prompt?.cacheWrite);
  const input = isCount(prompt?.noCache) ? prompt.noCache : Math.max(0, count(prompt?.total) - cacheRead - cacheWrite);
  const output = isCount(answer?.total) ? answer.total : count(answer?.text) + count(answer?.reasoning);
  return {
    input,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    output,
    total: input + cacheRead + cacheWrite + output,
  };
}

function isCount(value: number | undefined): value is number {
  return value !== undefined && Number.isFinite(value) && value >= 0;
}

function count(value: number | undefined): number {
  return isCount(value) ? value : 0;
}
