/** From settings to a model that can be asked. */
import { readFile } from "node:fs/promises";
import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { Clock } from "../engine/ports.ts";
import { createChatCompletionsModel, type FetchFunction } from "./chat-completions/model.ts";
import { knownProviders } from "./known-providers.ts";
import type { ModelSettings } from "./model-settings.ts";
import { ModelSupportError } from "./model-support-error.ts";
import { fetchFor } from "./http/proxy-fetch.ts";

export { knownProviders, ModelSupportError };

export interface CreateLanguageModelOptions {
  /** Of the offline model; required for it. */
  clock?: Clock | undefined;
  /** Absolute path of a scenario for the offline model. Default: the built-in one. */
  scenarioPath?: string | undefined;
  /** Where proxies are named. Default: the process's. */
  environment?: Readonly<Record<string, string | undefined>> | undefined;
  /** Default: the global one, or one through the environment's proxy. */
  fetch?: FetchFunction | undefined;
}

/** @throws ModelSupportError, ScenarioError, or the file system's error for a scenario that cannot be read. */
export async function createLanguageModel(
  settings: ModelSettings,
  options: CreateLanguageModelOptions = {},
): Promise<LanguageModelV3> {
  switch (settings.protocol) {
    case "openai-chat":
      return createChatModel(settings, options);
    case "offline":
      return createOffline(options);
    case "openai-responses":
    case "anthropic":
    case "gemini":
      throw new ModelSupportError(
        `${settings.provider}/${settings.modelId}: protocol "${settings.protocol}" is not supported in this version; ` +
          'use a server that speaks "openai-chat", or "offline"',
      );
  }
}

async function createChatModel(settings: ModelSettings, options: CreateLanguageModelOptions): Promise<LanguageModelV3> {
  const baseUrl = settings.baseUrl ?? knownBaseUrl(settings.provider);
  if (baseUrl === undefined) {
    throw new ModelSupportError(
      `${settings.provider}/${settings.modelId}: the address of provider "${settings.provider}" is not known; set base_url`,
    );
  }
  const fetch = options.fetch ?? (await fetchFor(options.environment ?? process.env));
  return createChatCompletionsModel({ settings: { ...settings, baseUrl }, fetch });
}

async function createOffline({ clock, scenarioPath }: CreateLanguageModelOptions): Promise<LanguageModelV3> {
  if (clock === undefined) throw new TypeError("the offline model needs a clock");
  const { createOfflineModel } = await import("./offline/model.ts");
  if (scenarioPath === undefined) {
    const { defaultScenario } = await import("./offline/default-scenario.ts");
    return createOfflineModel({ scenario: defaultScenario, clock });
  }
  const { parseScenario } = await import("./offline/scenario.ts");
  const scenario = await parseScenario(await readFile(scenarioPath, "utf8"), scenarioPath);
  return createOfflineModel({ scenario, clock });
}

function knownBaseUrl(provider: string): string | undefined {
  return Object.hasOwn(knownProviders, provider) ? knownProviders[provider]?.baseUrl : undefined;
}
