/** Token counts of a stream's `finish` part in the terms of the protocol. */
import type { LanguageModelV3Usage } from "@ai-sdk/provider";
import type { TokenCounts } from "@coxswain/protocol";
import { countOf } from "../../shared/json.ts";

/** `undefined` when the provider told nothing. */
export function toTokenCounts(usage: LanguageModelV3Usage | undefined): TokenCounts | undefined {
  const prompt = usage?.inputTokens;
  const answer = usage?.outputTokens;
  const told = [prompt?.total, prompt?.noCache, prompt?.cacheRead, prompt?.cacheWrite, answer?.total];
  if (told.every((value) => countOf(value) === undefined)) return undefined;
  const all = countOf(prompt?.total);
  // What came out of a cache or went into one is part of what went in.
  const cacheRead = Math.min(countOf(prompt?.cacheRead) ?? 0, all ?? Number.POSITIVE_INFINITY);
  const cacheWrite = Math.min(countOf(prompt?.cacheWrite) ?? 0, (all ?? Number.POSITIVE_INFINITY) - cacheRead);
  const input = all === undefined ? (countOf(prompt?.noCache) ?? 0) : all - cacheRead - cacheWrite;
  const output = countOf(answer?.total) ?? (countOf(answer?.text) ?? 0) + (countOf(answer?.reasoning) ?? 0);
  return {
    input,
    cache_read: cacheRead,
    cache_write: cacheWrite,
    output,
    total: input + cacheRead + cacheWrite + output,
  };
}
