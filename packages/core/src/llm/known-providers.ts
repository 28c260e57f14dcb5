/** Providers that need no more than their name and a key. */
import type { KnownProvider } from "./model-settings.ts";

const chat = (baseUrl: string, apiKeyVariable?: string): KnownProvider => ({
  protocol: "openai-chat",
  baseUrl,
  apiKeyVariable,
});

const moonshot = chat("https://api.moonshot.ai/v1", "MOONSHOT_API_KEY");
const zhipu = chat("https://open.bigmodel.cn/api/paas/v4", "ZHIPUAI_API_KEY");
const dashscope = chat("https://dashscope.aliyuncs.com/compatible-mode/v1", "DASHSCOPE_API_KEY");

/** By the name that stands in a configuration. Without `apiKeyVariable` no key is needed. */
export const knownProviders: Readonly<Record<string, KnownProvider>> = {
  openai: chat("https://api.openai.com/v1", "OPENAI_API_KEY"),
  anthropic: { protocol: "anthropic", apiKeyVariable: "ANTHROPIC_API_KEY" },
  google: { protocol: "gemini", apiKeyVariable: "GEMINI_API_KEY" },
  deepseek: chat("https://api.deepseek.com/v1", "DEEPSEEK_API_KEY"),
  moonshot,
  kimi: moonshot,
  zhipu,
  glm: zhipu,
  dashscope,
  qwen: dashscope,
  openrouter: chat("https://openrouter.ai/api/v1", "OPENROUTER_API_KEY"),
  groq: chat("https://api.groq.com/openai/v1", "GROQ_API_KEY"),
  mistral: chat("https://api.mistral.ai/v1", "MISTRAL_API_KEY"),
  together: chat("https://api.together.xyz/v1", "TOGETHER_API_KEY"),
  xai: chat("https://api.x.ai/v1", "XAI_API_KEY"),
  fireworks: chat("https://api.fireworks.ai/inference/v1", "FIREWORKS_API_KEY"),
  cerebras: chat("https://api.cerebras.ai/v1", "CEREBRAS_API_KEY"),
  ollama: chat("http://127.0.0.1:11434/v1"),
  lmstudio: chat("http://127.0.0.1:1234/v1"),
  vllm: chat("http://127.0.0.1:8000/v1"),
  llamacpp: chat("http://127.0.0.1:8080/v1"),
  offline: { protocol: "offline" },
};
