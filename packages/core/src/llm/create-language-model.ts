/** From settings to a model that can be asked. */
import { readFile } from "node:fs/promises";
import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { Clock } from "../engine/ports.ts";
import { createChatCompletionsModel } from "./chat-completions/model.ts";
import { readBaseUrl } from "./http/base-url.ts";
import type { FetchFunction } from "./http/model-fetch.ts";
import { fetchFor } from "./http/proxy-fetch.ts";
import type { ModelSettings, ModelTimeLimits } from "./model-settings.ts";
import { ModelSupportError } from "./model-support-error.ts";
import { usualAddress } from "./provider/known-providers.ts";
import { createPackageModel } from "./provider/package-models.ts";

export interface CreateLanguageModelOptions {
  /** Of the offline model; required for it. */
  clock?: Clock | undefined;
  /** Absolute path of a scenario for the offline model. Default: the built-in one. */
  scenarioPath?: string | undefined;
  /** Where proxies are named. Default: the process's. */
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** What the caller waits for; the network waits as long. */
  limits?: ModelTimeLimits | undefined;
  /** Default: the global one, or one through the environment's proxy. */
  fetch?: FetchFunction | undefined;
}

/** @throws ModelSupportError, ScenarioError, or the file system's error for a scenario that cannot be read. */
export async function createLanguageModel(
  settings: ModelSettings,
  options: CreateLanguageModelOptions = {},
): Promise<LanguageModelV3> {
  const { protocol } = settings;
  if (protocol === "offline") return createOffline(options);
  const addressed = { ...settings, baseUrl: addressOf(settings) };
  const fetch = await fetchOf(options);
  if (protocol === "openai-chat") return createChatCompletionsModel({ settings: addressed, fetch });
  return createPackageModel(protocol, addressed, fetch);
}

function addressOf({ provider, modelId, protocol, baseUrl }: ModelSettings): string {
  const given = baseUrl ?? usualAddress(provider, protocol);
  if (given === undefined) {
    throw new ModelSupportError(
      `${provider}/${modelId}: the address of provider "${provider}" is not known; set base_url`,
    );
  }
  const read = readBaseUrl(given);
  if (read.ok) return read.url;
  throw new ModelSupportError(`${provider}/${modelId}: base_url ${read.problem}`);
}

function fetchOf(options: CreateLanguageModelOptions): FetchFunction | Promise<FetchFunction> {
  const { fetch, env, limits } = options;
  const silenceMs = limits && Math.max(limits.firstContentMs, limits.idleMs);
  return fetch ?? fetchFor(env ?? process.env, { silenceMs });
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
