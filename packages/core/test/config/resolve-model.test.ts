import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { ModelEntry, ProjectConfig } from "../../src/config/project-config.ts";
import { resolveModel, type ResolveModelOptions } from "../../src/config/resolve-model.ts";
import type { KnownProvider } from "../../src/llm/model-settings.ts";
import { configErrorOf, onlyConfigErrors } from "./support.ts";

const knownProviders: Record<string, KnownProvider> = {
  openai: { protocol: "openai-chat", baseUrl: "https://api.openai.example/v1", apiKeyVariable: "OPENAI_API_KEY" },
  anthropic: { protocol: "anthropic", apiKeyVariable: "ANTHROPIC_API_KEY" },
  local: { protocol: "openai-chat", baseUrl: "http://127.0.0.1:11434/v1" },
};

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
  return { projectConfig: config(), env: {}, knownProviders, ...more };
}

const gpt = { provider: "openai", modelId: "gpt" };
const own = { provider: "own", modelId: "m", protocol: "openai-chat" } as const;

describe("resolving a model", () => {
  test("takes what is known of a provider and a model, and the key from its variable, trimmed", () => {
    const { settings, warnings } = resolveModel(
      options({
        projectConfig: config([], gpt),
        env: { OPENAI_API_KEY: " sk-env\n" },
        knownModel: () => ({ contextWindow: 9, maxOutputTokens: 8, vision: true }),
      }),
    );
    expect(settings).toEqual({
      ...gpt,
      protocol: "openai-chat",
      baseUrl: "https://api.openai.example/v1",
      apiKey: "sk-env",
      contextWindow: 9,
      maxOutputTokens: 8,
      vision: true,
    });
    expect(warnings).toEqual([]);
  });

  test("lets the file have the last word", () => {
    const entry: ModelEntry = {
      ...gpt,
      protocol: "openai-chat",
      baseUrl: "https://proxy.example/v1//",
      apiKey: " sk-file ",
      contextWindow: 1,
      maxTokens: 2,
      vision: false,
    };
    const { settings } = resolveModel(
      options({
        projectConfig: config([entry], gpt),
        env: { OPENAI_API_KEY: "sk-env" },
        knownModel: () => ({ contextWindow: 9, maxOutputTokens: 8, vision: true }),
      }),
    );
    expect(settings).toMatchObject({
      protocol: "openai-chat",
      baseUrl: "https://proxy.example/v1",
      apiKey: "sk-file",
      contextWindow: 1,
      maxOutputTokens: 2,
      vision: false,
    });
  });

  test("says that a protocol is not spoken before it asks for a key", () => {
    const entry: ModelEntry = { ...gpt, protocol: "gemini" };
    expect(() => resolveModel(options({ projectConfig: config([entry], gpt), env: {} }))).toThrow(
      'speaks "gemini", which is not supported in this version',
    );
  });

  test("finds a model by either half of its name", () => {
    const projectConfig = config([{ ...gpt, apiKey: "k" }, own]);
    expect(resolveModel(options({ projectConfig, provider: "own" })).settings.modelId).toBe("m");
    expect(resolveModel(options({ projectConfig, modelId: "gpt" })).settings.provider).toBe("openai");
  });

  test("needs no key and no entry for the offline model", () => {
    expect(resolveModel(options({ provider: "offline" })).settings).toMatchObject({
      provider: "offline",
      modelId: "offline",
      protocol: "offline",
      apiKey: undefined,
    });
    expect(resolveModel(options({ provider: "offline", modelId: "tour" })).settings.modelId).toBe("tour");
  });

  test("needs no key where none is known to be asked for, or on this machine", () => {
    expect(resolveModel(options({ provider: "local", modelId: "m" })).settings.apiKey).toBeUndefined();
    const onThisMachine = config([{ ...gpt, baseUrl: "http://localhost:1234/v1" }]);
    expect(resolveModel(options({ projectConfig: onThisMachine, ...gpt })).settings.apiKey).toBeUndefined();
    const ofOurOwn = config([{ ...own, baseUrl: "https://gpu.example" }]);
    expect(resolveModel(options({ projectConfig: ofOurOwn, provider: "own" })).settings.apiKey).toBeUndefined();
  });

  test("warns of a key that travels in the open, except within this machine", () => {
    const at = (baseUrl: string): string[] =>
      resolveModel(options({ projectConfig: config([{ ...own, apiKey: "k", baseUrl }], own) })).warnings;
    expect(at("http://gpu.example:8000/v1")).toEqual([
      'the key of "own" "m" goes to http://gpu.example:8000 without encryption; use https',
    ]);
    for (const url of [
      "https://gpu.example",
      "http://127.0.0.1:1",
      "http://[::1]:1",
      "http://localhost",
      "http://127.9.9.9",
    ]) {
      expect(at(url)).toEqual([]);
    }
    expect(at("http://127.0.0.1.example")).toHaveLength(1);
    expect(at("http://localhost.example")).toHaveLength(1);
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
      'no default model; add a line such as default_model = { provider = "openai", model_id = "gpt-5" }, or choose the provider "offline", which needs no key (cox run --provider offline)',
      "usage",
    ],
    [
      "a provider nobody knows",
      { provider: "opnai", modelId: "gpt", projectConfig: config([own]) },
      'the model "opnai" "gpt" is not known; configured are "own" "m"; did you mean the provider openai?',
      "usage",
    ],
    [
      "a provider like none",
      { provider: "zzz", modelId: "m" },
      'the model "zzz" "m" is not known; no [[models]] are configured; known providers are openai, anthropic, local',
      "usage",
    ],
    [
      "a provider that objects have by themselves",
      { provider: "constructor", modelId: "m" },
      'the model "constructor" "m" is not known; no [[models]] are configured; known providers are openai, anthropic, local',
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
      'protocol of the model "own" "m" is missing; it must be "openai-chat" or "offline", since the provider is not a known one',
      "usage",
    ],
    [
      "no key",
      gpt,
      'no key for the model "openai" "gpt"; set the environment variable OPENAI_API_KEY, or api_key in its [[models]] entry',
      "auth",
    ],
    [
      "an empty key",
      { ...gpt, env: { OPENAI_API_KEY: "  " }, projectConfig: config([{ ...gpt, apiKey: " " }]) },
      'no key for the model "openai" "gpt"; set the environment variable OPENAI_API_KEY, or api_key in its [[models]] entry',
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
      'the environment variable OPENAI_API_KEY of the model "openai" "gpt" holds spaces or characters that no key has; copy it again',
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
      'base_url of the model "own" "m" is an address with a password, but must be an address without a user; put the key into api_key',
      "usage",
    ],
    [
      "an address with a query",
      of({ baseUrl: "https://h.example/?a=1" }),
      'base_url of the model "own" "m" is "https://h.example/?a=1", but must be an address without "?" and "#"',
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
