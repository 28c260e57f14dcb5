/** Gemini. */
import type { LanguageModelV3Prompt, LanguageModelV3Usage, SharedV3ProviderOptions } from "@ai-sdk/provider";
import type { ThinkingLevelName } from "@coxswain/protocol";
import { countOf, isRecord, type JsonRecord, nonEmptyString } from "../../shared/json.ts";
import type { EventWatch, ProviderProfile } from "./profile.ts";

const thinkingLevel: Record<ThinkingLevelName, string> = {
  none: "minimal",
  low: "low",
  medium: "medium",
  high: "high",
  xhigh: "high",
  max: "high",
};

/** Tokens, for the models before Gemini 3, which take a budget instead of a word. */
const thinkingBudget: Record<ThinkingLevelName, number> = {
  none: 0,
  low: 2_048,
  medium: 8_192,
  high: 16_384,
  xhigh: 24_576,
  max: 24_576,
};
/** The least that Pro models before Gemini 3 accept: they always think. */
const leastProBudget = 128;

const filterWords = /SAFETY|RECITATION|PROHIBITED|BLOCKLIST|SPII|MODEL_ARMOR/;

export const geminiProfile: ProviderProfile = {
  holdsCalls: false,
  shape(options, { modelId, thinkingLevel: level }) {
    const prompt = ownThoughts(options.prompt);
    if (level === undefined) return { ...options, prompt };
    const providerOptions: SharedV3ProviderOptions = {
      google: { thinkingConfig: { ...thinking(modelId, level), includeThoughts: level !== "none" } },
    };
    return { ...options, prompt, providerOptions };
  },
  media: {
    more: /^(audio|video)\/[\w.+-]+$|^image\/hei[cf]$/,
    maxBytes: 15 * 1024 * 1024,
    takesUrl: ({ hostname }) => hostname === "generativelanguage.googleapis.com",
  },
  unnamedEnd(word) {
    if (word === "FUNCTION_CALL") return "tool-calls";
    return filterWords.test(word) ? "content-filter" : "error";
  },
  watch: () => new GeminiWatch(),
};

/** Gemini's thoughts are often unsigned; what carries the marks of another provider is not one of them. */
function ownThoughts(prompt: LanguageModelV3Prompt): LanguageModelV3Prompt {
  return prompt.map((message) => {
    if (message.role !== "assistant" || !message.content.some(isForeignThought)) return message;
    return { ...message, content: message.content.filter((part) => !isForeignThought(part)) };
  });
}

function isForeignThought(part: { type: string; providerOptions?: SharedV3ProviderOptions }): boolean {
  const namespaces = Object.keys(part.providerOptions ?? {});
  return part.type === "reasoning" && namespaces.length > 0 && !namespaces.some((name) => /google|vertex/i.test(name));
}

function thinking(modelId: string, level: ThinkingLevelName) {
  if (!/gemini-[12]\b/i.test(modelId)) {
    // Pro models cannot be told to think as good as not at all.
    return { thinkingLevel: level === "none" && /pro/i.test(modelId) ? "low" : thinkingLevel[level] };
  }
  const budget = thinkingBudget[level];
  return { thinkingBudget: /pro/i.test(modelId) ? Math.max(budget, leastProBudget) : budget };
}

class GeminiWatch implements EventWatch {
  usage: LanguageModelV3Usage | undefined;
  finishWords: string | undefined;

  accept(event: unknown): void {
    if (!isRecord(event)) return;
    const candidate: unknown = Array.isArray(event["candidates"]) ? event["candidates"][0] : undefined;
    if (isRecord(candidate)) this.finishWords = nonEmptyString(candidate["finishMessage"]) ?? this.finishWords;
    if (isRecord(event["usageMetadata"])) this.#count(event["usageMetadata"]);
  }

  #count(told: JsonRecord): void {
    const count = (name: string): number => countOf(told[name]) ?? 0;
    const total = count("promptTokenCount");
    const cacheRead = count("cachedContentTokenCount");
    const text = count("candidatesTokenCount");
    const reasoning = count("thoughtsTokenCount");
    this.usage = {
      inputTokens: { total, noCache: Math.max(0, total - cacheRead), cacheRead, cacheWrite: undefined },
      outputTokens: { total: text + reasoning, text, reasoning },
    };
  }
}
