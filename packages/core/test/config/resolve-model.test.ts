import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelEntry, ProjectConfig } from "../../src/config/project-config.ts";
import { resolveModel, type ResolveModelOptions } from "../../src/config/resolve-model.ts";
import { configErrorOf, onlyConfigErrors } from "./support.ts";

function config(models: ModelEntry[] = [], defaultModel?: ProjectConfig["defaultModel"]): ProjectConfig {
  return {
    path: "/h/project_config.toml",
    defaultModel,
    models,
    commandDenyRules: [],
    sandbox: "off",
    forbiddenFiles: [],
    durability: "process",
    warnings: [],
  };
}

function options(more: Partial<ResolveModelOptions> = {}): ResolveModelOptions {
  return { projectConfig: config(), env: {}, ...more };
}

const gpt = { provider: "openai", modelId: "gpt-5" };
const own = { provider: "own", modelId: "m", protocol: "openai-chat" } as const;

describe("resolving a model", () => {
  test("takes what is known of a provider and a model, and the key from its variable, trimmed", async () => {
    const { settings, warnings } = await resolveModel(
      options({ projectConfig: config([], gpt), env: { OPENAI_API_KEY: " sk-env\n" } }),
    );
    expect(settings).toEqual({
      ...gpt,
      protocol: "openai-responses",
      baseUrl: "https://api.openai.com/v1",
      apiKey: "sk-env",
      contextWindow: 400_000,
      maxOutputTokens: undefined,
      vision: true,
    });
    expect(warnings).toEqual([]);
  });

  test("lets the file have the last word", async () => {
    const entry: ModelEntry = {
      ...gpt,
      protocol: "anthropic",
      baseUrl: "https://proxy.example/v1//",
      apiKey: " sk-file ",
      contextWindow: 1,
      maxTokens: 2,
      vision: false,
    };
    const { settings } = await resolveModel(
      options({ projectConfig: config([entry], gpt), env: { OPENAI_API_KEY: "sk-env" } }),
    );
    expect(settings).toMatchObject({
      protocol: "anthropic",
      baseUrl: "https://proxy.example/v1",
      apiKey: "sk-file",
      contextWindow: 1,
      maxOutputTokens: 2,
      vision: false,
    });
  });

  test.each([
    ["another host", "https://gpu.example/v1", "openai-chat"],
    ["another port", "https://api.openai.com:8443/v1", "openai-chat"],
    ["its own host, written in another way", " https://API.openai.com/v1/ ", "openai-responses"],
    ["nowhere", " ", "openai-responses"],
  ])("takes OpenAI at %s to speak what servers there speak", async (_name, baseUrl, protocol) => {
    const projectConfig = config([{ ...gpt, apiKey: "k", baseUrl }], gpt);
    expect((await resolveModel(options({ projectConfig }))).settings.protocol).toBe(protocol);
  });

  test("leaves the window open and images out where nothing is known", async () => {
    const { settings } = await resolveModel(options({ projectConfig: config([own], own) }));
    expect(settings).toMatchObject({ contextWindow: 0, maxOutputTokens: undefined, vision: false });
  });

  test("finds a model by either half of its name", async () => {
    const projectConfig = config([{ ...gpt, apiKey: "k" }, own]);
    expect((await resolveModel(options({ projectConfig, provider: "own" }))).settings.modelId).toBe("m");
    expect((await resolveModel(options({ projectConfig, modelId: "gpt-5" }))).settings.provider).toBe("openai");
  });

  test("needs no key and no entry for the offline model", async () => {
    expect((await resolveModel(options({ provider: "offline" }))).settings).toMatchObject({
      provider: "offline",
      modelId: "offline",
      protocol: "offline",
      apiKey: undefined,
    });
    expect((await resolveModel(options({ provider: "offline", modelId: "tour" }))).settings.modelId).toBe("tour");
  });

  test("needs no key where none is known to be asked for, or on this machine", async () => {
    expect((await resolveModel(options({ provider: "ollama", modelId: "m" }))).settings.apiKey).toBeUndefined();
    const onThisMachine = config([{ ...gpt, baseUrl: "http://localhost:1234/v1" }]);
    expect((await resolveModel(options({ projectConfig: onThisMachine, ...gpt }))).settings.apiKey).toBeUndefined();
    const ofOurOwn = config([{ ...own, baseUrl: "https://gpu.example" }]);
    expect((await resolveModel(options({ projectConfig: ofOurOwn, provider: "own" }))).settings.apiKey).toBeUndefined();
  });

  test("warns of a key that travels in the open, except within this machine", async () => {
    const at = async (baseUrl: string): Promise<string[]> =>
      (await resolveModel(options({ projectConfig: config([{ ...own, apiKey: "k", baseUrl }], own) }))).warnings;
    expect(await at("http://gpu.example:8000/v1")).toEqual([
      'the key of "own" "m" goes to http://gpu.example:8000 without encryption; use https',
    ]);
    for (const url of [
      "https://gpu.example",
      "http://127.0.0.1:1",
      "http://[::1]:1",
      "http://localhost",
      "http://127.9.9.9",
    ]) {
      expect(await at(url)).toEqual([]);
    }
    expect(await at("http://127.0.0.1.example")).toHaveLength(1);
    expect(await at("http://localhost.example")).toHaveLength(1);
  });
});

describe("a model that cannot be used is told whole in one line", () => {
  const of = (entry: Partial<ModelEntry>): Partial<ResolveModelOptions> => ({
    projectConfig: config([{ ...own, ...entry }], own),
  });
  const rows: [string, Partial<ResolveModelOptions>, string, "usage" | "auth"][] = [
    [
      "no default model",
      {},
      'no default model; add one, such as: cox models add openai gpt-5 --default; or choose the provider "offline", which needs no key (cox run --provider offline)',
      "usage",
    ],
    [
      "a provider nobody knows",
      { provider: "opnai", modelId: "gpt-5", projectConfig: config([own]) },
      'the model "opnai" "gpt-5" is not known; configured are "own" "m"; did you mean the provider openai?',
      "usage",
    ],
    [
      "a provider like none",
      { provider: "zzz", modelId: "m" },
      'the model "zzz" "m" is not known; no [[models]] are configured; known providers are openai, anthropic, google, deepseek, moonshot, kimi, zhipu, glm, dashscope, qwen, openrouter, groq, mistral, together, xai, fireworks, cerebras, ollama, lmstudio, vllm, llamacpp, offline',
      "usage",
    ],
    [
      "a provider that objects have by themselves",
      { provider: "constructor", modelId: "m" },
      'the model "constructor" "m" is not known; no [[models]] are configured; known providers are openai, anthropic, google, deepseek, moonshot, kimi, zhipu, glm, dashscope, qwen, openrouter, groq, mistral, together, xai, fireworks, cerebras, ollama, lmstudio, vllm, llamacpp, offline',
      "usage",
    ],
    [
      "a model by half its name",
      { modelId: "x", projectConfig: config([own]) },
      'no model "x" is configured; configured are "own" "m"',
      "usage",
    ],
    [
      "a provider alone",
      { provider: "openai" },
      'which model of "openai"? name it; no [[models]] are configured',
      "usage",
    ],
    [
      "a provider of one's own without a protocol",
      of({ protocol: undefined }),
      'protocol of the model "own" "m" is missing; it must be one of openai-chat, openai-responses, anthropic, gemini, offline, since the provider is not a known one',
      "usage",
    ],
    [
      "no key",
      gpt,
      'no key for the model "openai" "gpt-5"; set the environment variable OPENAI_API_KEY, or api_key in its [[models]] entry',
      "auth",
    ],
    [
      "an empty key",
      { ...gpt, env: { OPENAI_API_KEY: "  " }, projectConfig: config([{ ...gpt, apiKey: " " }]) },
      'no key for the model "openai" "gpt-5"; set the environment variable OPENAI_API_KEY, or api_key in its [[models]] entry',
      "auth",
    ],
    [
      "a key over two lines",
      of({ apiKey: "sk-a\nsk-b" }),
      'api_key of the model "own" "m" holds spaces or characters that no key has; copy it again',
      "usage",
    ],
    [
      "a key with odd characters in its variable",
      { ...gpt, env: { OPENAI_API_KEY: "sk–a" } },
      'the environment variable OPENAI_API_KEY of the model "openai" "gpt-5" holds spaces or characters that no key has; copy it again',
      "usage",
    ],
    [
      "no address",
      of({ baseUrl: "gpu:8000" }),
      'base_url of the model "own" "m" is "gpu:8000", but must be an address that begins with https:// (or http://)',
      "usage",
    ],
    [
      "a file for an address",
      of({ baseUrl: "file:///etc/passwd" }),
      'base_url of the model "own" "m" is "file:///etc/passwd", but must be an address that begins with https:// (or http://)',
      "usage",
    ],
    [
      "an address with a password, which is not shown",
      of({ baseUrl: "https://u:hunter2@h.example" }),
      'base_url of the model "own" "m" is "https://…@h.example/", but must be an address without a user; put the key into api_key',
      "usage",
    ],
    [
      "an address with a query",
      of({ baseUrl: "https://h.example/?a=1" }),
      'base_url of the model "own" "m" is "https://h.example/?…", but must be an address without "?" and "#"',
      "usage",
    ],
  ];
  test.each(rows)("%s", async (_name, more, expected, kind) => {
    const error = await configErrorOf(() => resolveModel(options(more)));
    expect(error.message).toBe(`/h/project_config.toml: ${expected}`);
    expect(error.kind).toBe(kind);
  });

  test("whatever the values are", async () => {
    const text = fc.option(
      fc.oneof(fc.string({ unit: "binary" }), fc.webUrl(), fc.constantFrom("openai", "own", "offline", "__proto__")),
      { nil: undefined },
    );
    await fc.assert(
      fc.asyncProperty(text, text, text, text, async (provider, modelId, baseUrl, apiKey) => {
        const entry = { provider: provider ?? "own", modelId: modelId ?? "m", baseUrl, apiKey };
        await onlyConfigErrors(() => resolveModel(options({ provider, modelId, projectConfig: config([entry], own) })));
      }),
    );
  });
});
