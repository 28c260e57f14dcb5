/** What servers that speak the same protocol do not agree on. */

export interface Dialect {
  maxTokensField: "max_tokens" | "max_completion_tokens";
  /** Whether usage must be asked for. */
  streamOptions: boolean;
  /** Whether a cache is found by a key of ours. */
  cacheKey: boolean;
  /** Whether a cache must be asked for, and is then marked by the server itself. */
  cacheControl: boolean;
  /** Whether tools may be forbidden or demanded: some refuse a request that says anything of it. */
  toolChoice: boolean;
  /** Whether a message may say what its model was thinking. */
  takesReasoning: boolean;
  /** How a level of thinking is told: by a word, or by whether there is to be any. */
  thinkingField: "reasoning_effort" | "thinking" | "enable_thinking";
  /** Stands for the reasoning of an answer that had none, where the server refuses a history without. */
  reasoningFiller: string | undefined;
}

export function dialectOf(baseUrl: string, modelId: string): Dialect {
  const host = URL.canParse(baseUrl) ? new URL(baseUrl).hostname : "";
  const isOpenai = host === "api.openai.com" || host.endsWith(".openai.azure.com");
  const isMistral = host === "api.mistral.ai";
  // A gateway passes the refusal of the company that serves the model on.
  const isZhipu = /(^|\.)(bigmodel\.cn|z\.ai)$/.test(host) || modelId.startsWith("z-ai/");
  return {
    maxTokensField: isOpenai || isReasoner(modelId) ? "max_completion_tokens" : "max_tokens",
    streamOptions: !isMistral,
    cacheKey: host === "api.openai.com",
    cacheControl: host === "openrouter.ai" && /claude/i.test(modelId),
    toolChoice: !isZhipu,
    takesReasoning: !isMistral,
    thinkingField: thinkingField(host),
    reasoningFiller: reasoningFiller(host),
  };
}

/** OpenAI's own, which refuse the older name also when a gateway passes it on. */
function isReasoner(modelId: string): boolean {
  return /^(openai\/)?(o\d|gpt-[5-9])/.test(modelId);
}

function thinkingField(host: string): Dialect["thinkingField"] {
  if (/(^|\.)(bigmodel\.cn|z\.ai|moonshot\.(ai|cn)|kimi\.com)$|^api\.deepseek\.com$/.test(host)) return "thinking";
  return /^dashscope(-\w+)?\.aliyuncs\.com$/.test(host) ? "enable_thinking" : "reasoning_effort";
}

function reasoningFiller(host: string): string | undefined {
  if (host === "api.deepseek.com") return "";
  // Here an empty text counts as none.
  return /^api\.(moonshot\.(ai|cn)|kimi\.com)$/.test(host) ? " " : undefined;
}
