/** The word of OpenAI's models for a level of thinking: each family knows some of them and refuses the others. */
import type { ThinkingLevelName } from "@coxswain/protocol";

export function openaiEffort(modelId: string, level: ThinkingLevelName): string {
  const name = modelId.replace(/^.*\//, "");
  if (/^o\d/.test(name))
    return { none: "low", low: "low", medium: "medium", high: "high", xhigh: "high", max: "high" }[level];
  if (/^gpt-5(-|$)/.test(name) && level === "none") return "minimal";
  if (/^gpt-5(\.1)?(-|$)/.test(name) && (level === "xhigh" || level === "max")) return "high";
  // The highest word of most; servers that speak the same protocol know it best.
  return level === "max" && !/^gpt-([6-9]|\d\d)/.test(name) ? "xhigh" : level;
}
