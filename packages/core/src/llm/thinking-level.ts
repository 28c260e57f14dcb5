/** A thinking level in the terms of each provider package. */
import type { SharedV3ProviderOptions } from "@ai-sdk/provider";
import type { ThinkingLevelName } from "@coxswain/protocol";

const reasoningEffort: Record<ThinkingLevelName, string> = {
  none: "none",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "xhigh",
  max: "xhigh",
};

/** Tokens of thinking, for providers that take a budget instead of a word. */
const thinkingBudget: Record<ThinkingLevelName, number> = {
  none: 0,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 32_768,
};

/** `openai.chat` and `openai.responses` both read the options of `openai`. */
function optionsNamespace(provider: string): string {
  return provider.replace(/\.[^.]*$/, "");
}

export function thinkingOptions(provider: string, level: ThinkingLevelName | undefined): SharedV3ProviderOptions {
  if (level === undefined) return {};
  const namespace = optionsNamespace(provider);
  const budget = thinkingBudget[level];
  switch (namespace) {
    case "anthropic":
      return {
        anthropic: { thinking: budget === 0 ? { type: "disabled" } : { type: "enabled", budgetTokens: budget } },
      };
    case "google":
      return { google: { thinkingConfig: { thinkingBudget: budget, includeThoughts: budget > 0 } } };
    default:
      return { [namespace]: { reasoningEffort: reasoningEffort[level] } };
  }
}
