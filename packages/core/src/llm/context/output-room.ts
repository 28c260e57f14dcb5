/** How many tokens an answer may have, so that input and answer fit into the window together. */
import type { LanguageModelV3FunctionTool, LanguageModelV3Message } from "@ai-sdk/provider";

const bytesPerToken = 3;
const windowMargin = 0.02;
/** Tokens; an image costs what its size in pixels costs, whatever its bytes. */
const imageTokens = 1_600;
/** Below this an answer is of no use: better that the provider refuses, which leads to a compaction. */
const leastOutputTokens = 256;

/** Tokens, on the high side. */
export function estimateTokens(prompt: readonly LanguageModelV3Message[]): number {
  let tokens = 0;
  for (const message of prompt) tokens += messageTokens(message);
  return tokens;
}

export function estimateToolTokens(tools: readonly LanguageModelV3FunctionTool[]): number {
  return textTokens(JSON.stringify(tools));
}

/** Tokens that the window has left for an answer; `undefined` when the window is not known. */
export function outputRoom(contextWindow: number, estimatedInput: number): number | undefined {
  if (contextWindow <= 0) return undefined;
  return Math.max(Math.floor(contextWindow * (1 - windowMargin) - estimatedInput), leastOutputTokens);
}

function messageTokens(message: LanguageModelV3Message): number {
  if (typeof message.content === "string") return textTokens(message.content);
  let tokens = 0;
  for (const part of message.content) {
    if (part.type === "file") tokens += imageTokens;
    else if (part.type === "tool-result" && part.output.type === "content") {
      for (const item of part.output.value) {
        tokens += item.type === "text" ? textTokens(JSON.stringify(item)) : imageTokens;
      }
    } else tokens += textTokens(JSON.stringify(part));
  }
  return tokens;
}

function textTokens(text: string): number {
  return Math.ceil(Buffer.byteLength(text) / bytesPerToken);
}
