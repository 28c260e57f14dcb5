import { describe, expect, it } from "vitest";
import { knownModel } from "../../src/llm/catalogue/known-model.ts";
import { findListedModel } from "../../src/llm/catalogue/price-list.ts";

const now = Date.UTC(2026, 10, 2, 12);

async function known(provider: string, modelId: string) {
  const model = knownModel({ provider, modelId });
  return [await model?.contextWindow(), model?.vision, await model?.prices(now)] as const;
}

const nothing = [undefined, undefined, undefined];

describe("what is known of a model without configuration", () => {
  it.each([
    ["openai", "gpt-4o", 128_000, true, 2.5],
    ["openai", "gpt-5-2025-08-07", 400_000, true, 1.25],
    ["openai", "o3", 200_000, true, 2],
    ["anthropic", "claude-opus-4-5", 200_000, true, 5],
    ["anthropic", "claude-3-haiku-20240307", 200_000, true, 0.25],
    ["google", "gemini-2.5-flash", 1_048_576, true, 0.3],
    ["kimi", "kimi-k2.6", 262_144, undefined, 0.95],
    ["moonshot", "kimi-k2-0905-preview", 262_144, undefined, 0.6],
    ["glm", "glm-4.7", 200_000, undefined, 0.276],
    ["zhipu", "GLM-4.7", 200_000, undefined, 0.276],
    ["xai", "grok-4", 256_000, undefined, 3],
    ["cerebras", "llama-3.3-70b", 128_000, undefined, 0.85],
    ["fireworks", "accounts/fireworks/models/gpt-oss-120b", 131_072, undefined, 0.15],
  ])("%s %s", async (provider, modelId, window, vision, input) => {
    expect(await known(provider, modelId)).toEqual([window, vision, expect.objectContaining({ input })]);
  });

  it.each([
    ["anthropic", "claude-opus-4-5-latest", "claude-opus-4-5"],
    ["anthropic", "claude-opus-4-5-20251101", "claude-opus-4-5"],
    ["openai", "gpt-5-2027-01-31", "gpt-5"],
    ["openai", "gpt-5-latest", "gpt-5"],
    ["openai", "GPT-4o", "gpt-4o"],
    ["google", "models/gemini-2.5-flash", "gemini-2.5-flash"],
  ])("%s %s is %s", async (provider, edition, modelId) => {
    expect(await known(provider, edition)).toEqual(await known(provider, modelId));
    expect((await known(provider, edition))[2]).toBeDefined();
  });

  it("a snapshot with a price of its own keeps it", async () => {
    expect((await known("openai", "gpt-4o-2024-05-13"))[2]).toMatchObject({ input: 5 });
  });

  it.each([
    ["openai", "gpt-4o-made-up"],
    ["deepseek", "deepseek-chat-made-up"],
    ["anthropic", "claude-unheard-of"],
    ["dashscope", "qwen3-max"],
    ["my-server", "gpt-4o"],
    ["ollama", "llama3"],
    ["offline", "offline"],
    ["constructor", "gpt-4o"],
    ["openai", "a".repeat(100_000)],
    ["openai", `gpt-5${"-1234-12-12".repeat(9_000)}x`],
    ["openrouter", "constructor/x"],
  ])("nothing of %s %.40s", async (provider, modelId) => {
    expect(await known(provider, modelId)).toEqual(nothing);
  });

  it("nothing of a provider whose name is only like a listed one", async () => {
    expect(await findListedModel("anthropic-proxy", "claude-opus-4-5")).toBeUndefined();
    expect(await findListedModel("anthropic", "claude-opus-4-5")).toBeDefined();
  });

  it("nothing but its family of a model whose name only begins like a listed one", async () => {
    expect(await known("anthropic", "claude-sonnet-5-7")).toEqual([undefined, true, undefined]);
    expect(await known("anthropic", "claude-opus-4-10")).toEqual([undefined, true, undefined]);
    expect(await known("google", "gemini-3.6-flash-lite")).toEqual([undefined, true, undefined]);
  });

  it.each([
    "gpt-3.5-turbo",
    "gpt-4o-audio-preview",
    "gpt-4o-mini-tts",
    "o1-mini",
    "o3-mini",
    "gpt-5.3-codex-spark",
    "text-embedding-3-large",
  ])("%s is not said to see images", (modelId) => {
    expect(knownModel({ provider: "openai", modelId })?.vision).toBeUndefined();
  });

  it.each(["claude-2.1", "claude-instant-1.2", "claude-v1"])("%s is not said to see images", (modelId) => {
    expect(knownModel({ provider: "anthropic", modelId })?.vision).toBeUndefined();
  });

  it.each(["gemini-2.5-flash-preview-tts", "gemini-embedding-001", "gemini-2.0-flash-live-001"])(
    "%s is not said to see images",
    (modelId) => {
      expect(knownModel({ provider: "google", modelId })?.vision).toBeUndefined();
    },
  );

  it("behind a gateway the price is the gateway's, and what it leaves open is the maker's", async () => {
    expect(await known("openrouter", "anthropic/claude-sonnet-4.5")).toMatchObject([1_000_000, true, { output: {} }]);
    expect(await known("openrouter", "anthropic/claude-sonnet-4")).toMatchObject([200_000, true, { input: 3 }]);
    expect((await known("openrouter", "deepseek/deepseek-made-up"))[0]).toBeUndefined();
    expect((await known("openrouter", "google/gemma-3-27b-it:free"))[1]).toBeUndefined();
  });

  it.each([
    ["anthropic.messages", "claude-opus-4-5", 200_000],
    ["openai.responses", "gpt-5", 400_000],
    ["openai.chat", "gpt-5", 400_000],
    ["google.generative-ai", "gemini-2.5-flash", 1_048_576],
    ["xai.chat", "grok-4", 256_000],
  ])("a model of the SDK's package %s is found by the name of the package", async (provider, modelId, window) => {
    expect((await known(provider, modelId))[0]).toBe(window);
  });
});
