/** OpenAI's responses. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3Message,
  LanguageModelV3Prompt,
  LanguageModelV3Usage,
} from "@ai-sdk/provider";
import type { ThinkingLevelName } from "@coxswain/protocol";
import { isRecord } from "../../shared/json.ts";
import { readUsage } from "../chat-completions/usage.ts";
import { ownNamespace } from "../own-namespace.ts";
import { openaiEffort } from "./openai-effort.ts";
import { optionsNamespace } from "./options-namespace.ts";
import type { EventWatch, ProviderProfile } from "./profile.ts";

export function responsesProfile(provider: string): ProviderProfile {
  const namespace = optionsNamespace(provider);
  return {
    holdsCalls: false,
    shape(options, { modelId, thinkingLevel, cacheKey }) {
      const { tools } = options;
      return {
        ...options,
        prompt: asWritten(options.prompt),
        ...(tools !== undefined && { tools: looseTools(tools) }),
        providerOptions: {
          [namespace]: {
            // Nothing is kept at the provider: what it needs to go on, it gets back from us.
            store: false,
            ...(!isOpenai(modelId) && { systemMessageMode: "system" }),
            ...(cacheKey !== undefined && { promptCacheKey: cacheKey }),
            ...(thinkingLevel !== undefined && thinking(modelId, thinkingLevel)),
          },
        },
      };
    },
    media: { more: undefined, maxBytes: 20 * 1024 * 1024, takesUrl: () => true },
    unnamedEnd: () => "error",
    watch: () => new ResponsesWatch(),
  };
}

/** A level that somebody asked for says that the model reasons, also where the package does not know it. */
function thinking(modelId: string, level: ThinkingLevelName) {
  const reasoningEffort = openaiEffort(modelId, level);
  if (level === "none") return { reasoningEffort };
  return { reasoningEffort, reasoningSummary: "auto", forceReasoning: true };
}

/** Others who speak the protocol do not know of developers. */
function isOpenai(modelId: string): boolean {
  return /^(o\d|gpt-|chatgpt|codex|computer-use)/.test(modelId);
}

const writtenMessages = new WeakMap<LanguageModelV3Message, LanguageModelV3Message>();

/** Calls with their arguments in the model's own spelling: the cache of the provider holds that one. */
function asWritten(prompt: LanguageModelV3Prompt): LanguageModelV3Prompt {
  return prompt.map((message) => {
    if (message.role !== "assistant") return message;
    let written = writtenMessages.get(message);
    if (written === undefined) {
      const content = message.content.map((part) => {
        const text = part.type === "tool-call" ? part.providerOptions?.[ownNamespace]?.["arguments"] : undefined;
        return part.type === "tool-call" && isTaken(text) ? { ...part, input: text } : part;
      });
      written = { ...message, content };
      writtenMessages.set(message, written);
    }
    return written;
  });
}

/** Text with the name of a prototype, also an escaped one, is no JSON to the package. */
function isTaken(text: unknown): text is string {
  return typeof text === "string" && !/__proto__|constructor|\\u/.test(text);
}

type Tools = NonNullable<LanguageModelV3CallOptions["tools"]>;

const looseLists = new WeakMap<Tools, Tools>();

/** A schema that is not strict may be changed to one that is, which makes every optional argument a required one. */
function looseTools(tools: Tools): Tools {
  let loose = looseLists.get(tools);
  if (loose === undefined) {
    loose = tools.map((tool) => (tool.type === "function" ? { ...tool, strict: false } : tool));
    looseLists.set(tools, loose);
  }
  return loose;
}

class ResponsesWatch implements EventWatch {
  usage: LanguageModelV3Usage | undefined;

  accept(event: unknown): void {
    if (!isRecord(event) || !isRecord(event["response"])) return;
    const { usage } = event["response"];
    if (isRecord(usage)) this.usage = readUsage(usage);
  }
}
