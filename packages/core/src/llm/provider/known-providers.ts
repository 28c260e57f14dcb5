/** Providers that need no more than their name and a key. */
import type { ModelProtocol } from "../model-settings.ts";

/** What is known of a provider without configuration. */
export interface KnownProvider {
  protocol: ModelProtocol;
  /** What servers speak that only call themselves so, at another address. Default: the same. */
  protocolElsewhere?: ModelProtocol | undefined;
  baseUrl?: string | undefined;
  /** The environment variable that usually holds its key. Absent: it needs no key. */
  apiKeyVariable?: string | undefined;
  /** Its name in the public price list. Absent: the list does not have it. */
  listId?: string | undefined;
}

const chat = (baseUrl: string, apiKeyVariable?: string, listId?: string): KnownProvider => ({
  protocol: "openai-chat",
  baseUrl,
  apiKeyVariable,
  listId,
});

const moonshot = chat("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", "moonshotai");
const zhipu = chat("https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY", "zhipuai");
const dashscope = chat("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY");

/** By the name that stands in a configuration. Without `apiKeyVariable` no key is needed. */
export const knownProviders: Readonly<Record<string, KnownProvider>> = {
  openai: {
    protocol: "openai-responses",
    protocolElsewhere: "openai-chat",
    baseUrl: "https://api.openai.com/v1",
    apiKeyVariable: "OPENAI_API_KEY",
    listId: "openai",
  },
  anthropic: {
    protocol: "anthropic",
    baseUrl: "https://api.anthropic.com/v1",
    apiKeyVariable: "ANTHROPIC_API_KEY",
    listId: "anthropic",
  },
  google: {
    protocol: "gemini",
    baseUrl: "https://generativelanguage.googleapis.com/v1beta",
    apiKeyVariable: "GEMINI_API_KEY",
    listId: "google",
  },
  deepseek: chat("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY", "deepseek"),
  moonshot,
  kimi: moonshot,
  zhipu,
  glm: zhipu,
  dashscope,
  qwen: dashscope,
  openrouter: chat("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", "openrouter"),
  groq: chat("https://api.groq.com/openai/v1", "GROQ_API_KEY", "groq"),
  mistral: chat("https://api.mistral.ai/v1", "MISTRAL_API_KEY", "mistral"),
  together: chat("https://api.together.xyz/v1", "TOGETHER_API_KEY", "together"),
  xai: chat("https://api.x.ai/v1", "XAI_API_KEY", "x-ai"),
  fireworks: chat("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY", "fireworks"),
  cerebras: chat("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY", "cerebras"),
  ollama: chat("http://127.0.0.1:11434/v1"),
  lmstudio: chat("http://127.0.0.1:1234/v1"),
  vllm: chat("http://127.0.0.1:8000/v1"),
  llamacpp: chat("http://127.0.0.1:8080/v1"),
  offline: { protocol: "offline" },
};

export function knownProvider(name: string): KnownProvider | undefined {
  return Object.hasOwn(knownProviders, name) ? knownProviders[name] : undefined;
}

const makers: Record<ModelProtocol, string | undefined> = {
  // Everybody speaks them.
  "openai-chat": undefined,
  "openai-responses": "openai",
  anthropic: "anthropic",
  gemini: "google",
  offline: undefined,
};

/** Where a provider is when nobody says it: at its own address, else at that of the protocol's maker. */
export function usualAddress(provider: string, protocol: ModelProtocol): string | undefined {
  return knownProvider(provider)?.baseUrl ?? knownProvider(makers[protocol] ?? "")?.baseUrl;
}
