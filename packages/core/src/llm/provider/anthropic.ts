/** Anthropic's messages, and servers that speak them. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  SharedV3ProviderOptions,
} from "@ai-sdk/provider";
import type { ThinkingLevelName } from "@coxswain/protocol";
import { AnthropicWatch } from "./anthropic-watch.ts";
import type { ProviderProfile, RequestFacts } from "./profile.ts";

/** Tokens of thinking, for the models that take a budget instead of a word. */
const thinkingBudget: Record<Exclude<ThinkingLevelName, "none">, number> = {
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 32_768,
};
const leastBudget = 1_024;
/** Tokens of one answer, where nobody says how many: the interface wants a number. */
const otherAnswerTokens = 8_192;

export const anthropicProfile: ProviderProfile = {
  holdsCalls: false,
  shape(options, facts) {
    const { toolChoice, ...rest } = options;
    const answerTokens = answerLimit(options, facts);
    const { thinking, maxOutputTokens } = think(options.prompt, facts, answerTokens);
    return {
      ...rest,
      // Forbidding tools would change what comes before the messages, and with it the cache of all of them.
      ...(toolChoice !== undefined && toolChoice.type !== "none" && { toolChoice }),
      maxOutputTokens,
      ...marked(options),
      // Of arguments that stream eagerly only Claude's own servers know.
      providerOptions: { anthropic: { ...thinking, toolStreaming: isClaude(facts.modelId) } },
    };
  },
  media: { more: undefined, maxBytes: 5 * 1024 * 1024, takesUrl: ({ protocol }) => protocol === "https:" },
  unnamedEnd: () => "error",
  watch: () => new AnthropicWatch(),
};

function isClaude(modelId: string): boolean {
  return /claude/i.test(modelId);
}

function answerLimit({ maxOutputTokens }: LanguageModelV3CallOptions, { modelId, room }: RequestFacts): number {
  if (maxOutputTokens !== undefined) return maxOutputTokens;
  return Math.min(
    isClaude(modelId) ? claudeAnswerTokens(modelId) : otherAnswerTokens,
    room ?? Number.POSITIVE_INFINITY,
  );
}

/** Of those that the package knows it lowers this to their own limit; of the older ones it does not. */
function claudeAnswerTokens(modelId: string): number {
  if (/claude-3[.-]7/i.test(modelId)) return 64_000;
  if (/claude-3[.-]5/i.test(modelId)) return 8_192;
  return /claude-(3|2|v2|instant)/i.test(modelId) ? 4_096 : 128_000;
}

type Thinking = NonNullable<SharedV3ProviderOptions["anthropic"]>;

/** A budget is part of the answer's tokens, and the package adds it to what it is told. */
function think(
  prompt: LanguageModelV3Prompt,
  { modelId, thinkingLevel: level }: RequestFacts,
  answerTokens: number,
): { thinking?: Thinking; maxOutputTokens: number } {
  if (level === undefined) return { maxOutputTokens: answerTokens };
  if (level === "none") return { thinking: { thinking: { type: "disabled" } }, maxOutputTokens: answerTokens };
  if (decidesItself(modelId)) {
    const thinking = { thinking: { type: "adaptive", display: "summarized" }, effort: level };
    return { thinking, maxOutputTokens: answerTokens };
  }
  const budgetTokens = Math.min(thinkingBudget[level], Math.floor(answerTokens / 2));
  if (budgetTokens < leastBudget || goesOnWithoutThinking(prompt)) return { maxOutputTokens: answerTokens };
  return {
    thinking: { thinking: { type: "enabled", budgetTokens } },
    maxOutputTokens: answerTokens - budgetTokens,
  };
}

/** From 4.6 on a model finds its own budget. */
function decidesItself(modelId: string): boolean {
  if (!isClaude(modelId)) return false;
  const [, major, minor] = /claude-[a-z]+-(\d{1,2})(?:[.-](\d{1,2}))?(?!\d)/i.exec(modelId) ?? [];
  if (major === undefined) return false;
  return Number(major) > 4 || (Number(major) === 4 && Number(minor ?? 0) >= 6);
}

/** Outputs of calls that were made without thinking cannot be answered with it. */
function goesOnWithoutThinking(prompt: LanguageModelV3Prompt): boolean {
  for (let index = prompt.length - 1; index >= 0; index -= 1) {
    const message = prompt[index];
    if (message?.role !== "assistant") continue;
    const { content } = message;
    // Of the thinking of another provider nothing is sent.
    const hasThinking = content.some(
      (part) => part.type === "reasoning" && "anthropic" in (part.providerOptions ?? {}),
    );
    return !hasThinking && content.some((part) => part.type === "tool-call");
  }
  return false;
}

const mark: SharedV3ProviderOptions = { anthropic: { cacheControl: { type: "ephemeral" } } };

/**
 * Three marks: after the system prompt (with the tools, which come before it), where the last committed request ended,
 * which is where its mark was, and at the end of this one.
 */
function marked({ prompt, tools }: LanguageModelV3CallOptions): Pick<LanguageModelV3CallOptions, "prompt" | "tools"> {
  const places = new Set([prompt.length - 1, endOfCommittedRequest(prompt)]);
  const hasSystem = prompt[0]?.role === "system";
  if (hasSystem) places.add(0);
  const markedPrompt = prompt.map((message, index) => (places.has(index) ? withMark(message) : message));
  if (hasSystem || tools === undefined) return { prompt: markedPrompt, ...(tools !== undefined && { tools }) };
  return {
    prompt: markedPrompt,
    tools: tools.with(-1, { ...tools.at(-1), providerOptions: mark } as (typeof tools)[0]),
  };
}

/** The input before the newest answer. */
function endOfCommittedRequest(prompt: LanguageModelV3Prompt): number {
  let index = prompt.findLastIndex((message) => message.role === "assistant");
  while (prompt[index]?.role === "assistant") index -= 1;
  return index;
}

function withMark(message: LanguageModelV3Message): LanguageModelV3Message {
  return { ...message, providerOptions: { ...message.providerOptions, ...mark } };
}
