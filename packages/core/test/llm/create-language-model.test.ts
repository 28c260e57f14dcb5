import { systemClock } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { GenerativeModel } from "../../src/llm/context/generative-model.ts";
import { createLanguageModel } from "../../src/llm/create-language-model.ts";
import type { ModelSettings } from "../../src/llm/model-settings.ts";
import { generate, generousLimits } from "./support/generate.ts";
import { protocols, settingsFor, type WireProtocol } from "./support/streams.ts";

async function addressAsked(settings: ModelSettings): Promise<string> {
  let address = "";
  const fetch: typeof globalThis.fetch = async (url) => {
    address = new Request(url).url.replace(/\?.*/, "");
    return new Response("", { status: 404 });
  };
  const model = await createLanguageModel(settings, { fetch });
  await generate(new GenerativeModel({ model, systemPrompt: "", limits: generousLimits, clock: systemClock }));
  return address;
}

describe("the address of a model", () => {
  it.each([
    ["ftp://x", 'is "ftp://x", but must be an address that begins with https://'],
    ["gpu:8000", 'is "gpu:8000", but must be an address that begins with https://'],
  ])("%s is refused for each protocol", async (baseUrl, words) => {
    for (const protocol of protocols) {
      const created = createLanguageModel(settingsFor(protocol, baseUrl));
      await expect(created).rejects.toThrow(`local/test-model: base_url ${words}`);
    }
  });

  const paths: Record<WireProtocol, string> = {
    "openai-chat": "/chat/completions",
    "openai-responses": "/responses",
    anthropic: "/messages",
    gemini: "/models/test-model:streamGenerateContent",
  };

  it.each(protocols)("is the one that is given, with or without a slash at its end: %s", async (protocol) => {
    for (const baseUrl of ["https://h.example/v1", "https://h.example/v1/"]) {
      const settings = { ...settingsFor(protocol, baseUrl), provider: "deepseek" };
      expect(await addressAsked(settings)).toBe(`https://h.example/v1${paths[protocol]}`);
    }
  });

  it.each([
    ["openai-chat", ""],
    ["openai-responses", ""],
    ["anthropic", "/v1"],
    ["gemini", "/v1beta"],
  ] as const)("without a version gets the one that the package does not add: %s", async (protocol, version) => {
    const asked = await addressAsked(settingsFor(protocol, "https://h.example"));
    expect(asked).toBe(`https://h.example${version}${paths[protocol]}`);
  });

  it.each(protocols)("is else the provider's: %s", async (protocol) => {
    const settings = { ...settingsFor(protocol, ""), provider: "deepseek", baseUrl: undefined };
    expect(await addressAsked(settings)).toBe(`https://api.deepseek.com/v1${paths[protocol]}`);
  });

  it.each([
    ["openai-responses", "https://api.openai.com/v1"],
    ["anthropic", "https://api.anthropic.com/v1"],
    ["gemini", "https://generativelanguage.googleapis.com/v1beta"],
  ] as const)("is else the usual one of its protocol: %s", async (protocol, baseUrl) => {
    const settings = { ...settingsFor(protocol, ""), baseUrl: undefined };
    expect(await addressAsked(settings)).toBe(`${baseUrl}${paths[protocol]}`);
  });

  it("must be given for chat completions of a provider that is not known", async () => {
    const created = createLanguageModel({ ...settingsFor("openai-chat", ""), baseUrl: undefined });
    await expect(created).rejects.toThrow('the address of provider "local" is not known; set base_url');
  });
});
