/** From what is configured to the one model that a Session talks to. */
import { knownModel } from "../llm/catalogue/known-model.ts";
import { readBaseUrl } from "../llm/http/base-url.ts";
import { modelProtocols, type ModelSettings } from "../llm/model-settings.ts";
import { knownProviders } from "../llm/provider/known-providers.ts";
import { ConfigError, nearestName, showValue } from "./config-error.ts";
import { addressOf, givenAddress, protocolOf } from "./model-entry.ts";
import { isLoopback, isPossibleKey, keyOrigin, storedKey, type Variables } from "./model-key.ts";
import { isSameModel, type ModelEntry, type ModelName, type ProjectConfig } from "./project-config.ts";

export interface ResolveModelOptions {
  projectConfig: ProjectConfig;
  /** Default: the Project's default model; with only one of the two given, the model of that name. */
  provider?: string | undefined;
  modelId?: string | undefined;
  env: Variables;
}

export interface ResolvedModel {
  settings: ModelSettings;
  /** One line each. */
  warnings: string[];
}

const offline = "offline";
const shownModels = 12;

/** @throws ConfigError of kind `auth` when only the key is missing, else `usage` */
export async function resolveModel(options: ResolveModelOptions): Promise<ResolvedModel> {
  const name = chooseModel(options);
  const configured = options.projectConfig.models.find((model) => isSameModel(model, name));
  const entry: ModelEntry = configured ?? name;
  const protocol = protocolOf(entry);
  if (protocol === undefined) throw unknownModel(options, name, configured);
  const warnings: string[] = [];
  const place = { file: options.projectConfig.path };
  const given = givenAddress(entry);
  const baseUrl = given === undefined ? addressOf(entry) : checkedBaseUrl(given, name, place);
  const apiKey = protocol === "offline" ? undefined : findKey(options, entry);
  if (baseUrl !== undefined && apiKey !== undefined && isPlainRemote(baseUrl)) {
    warnings.push(`the key of ${shownName(name)} goes to ${new URL(baseUrl).origin} without encryption; use https`);
  }
  const known = knownModel(name);
  const settings: ModelSettings = {
    ...name,
    protocol,
    baseUrl,
    apiKey,
    // The list of models is loaded only when it is needed.
    contextWindow: entry.contextWindow ?? (await known?.contextWindow()) ?? 0,
    maxOutputTokens: entry.maxTokens,
    vision: entry.vision ?? known?.vision ?? protocol !== "openai-chat",
  };
  return { settings, warnings };
}

function chooseModel(options: ResolveModelOptions): ModelName {
  const { projectConfig, provider, modelId } = options;
  const { defaultModel, models } = projectConfig;
  if (provider !== undefined && modelId !== undefined) return { provider, modelId };
  if (provider === undefined && modelId === undefined) {
    if (defaultModel !== undefined) return defaultModel;
    throw new ConfigError(
      "no_model",
      `no default model; add one, such as: cox models add openai gpt-5 --default; or choose the provider "${offline}", which needs no key (cox run --provider ${offline})`,
      { file: projectConfig.path },
    );
  }
  const all = defaultModel === undefined ? models : [defaultModel, ...models];
  const found = all.find(
    (name) => name.provider === (provider ?? name.provider) && name.modelId === (modelId ?? name.modelId),
  );
  if (found !== undefined) return { provider: found.provider, modelId: found.modelId };
  if (provider === offline) return { provider: offline, modelId: offline };
  throw new ConfigError(
    "unknown_model",
    provider === undefined
      ? `no model ${showValue(modelId)} is configured; ${configuredModels(projectConfig)}`
      : `which model of ${showValue(provider)}? name it; ${configuredModels(projectConfig)}`,
    { file: projectConfig.path },
  );
}

function unknownModel(options: ResolveModelOptions, name: ModelName, entry: ModelEntry | undefined): ConfigError {
  const place = { file: options.projectConfig.path };
  if (entry !== undefined) {
    return new ConfigError(
      "missing_value",
      `protocol of the model ${shownName(name)} is missing; it must be one of ${modelProtocols.join(", ")}, since the provider is not a known one`,
      place,
    );
  }
  const known = Object.keys(knownProviders);
  const nearest = nearestName(name.provider, known);
  const hint =
    nearest === undefined ? `known providers are ${known.join(", ")}` : `did you mean the provider ${nearest}?`;
  return new ConfigError(
    "unknown_model",
    `the model ${shownName(name)} is not known; ${configuredModels(options.projectConfig)}; ${hint}`,
    place,
  );
}

export function shownName(name: ModelName): string {
  return `${showValue(name.provider)} ${showValue(name.modelId)}`;
}

/** For messages: which models there are. */
export function configuredModels(config: ProjectConfig): string {
  if (config.models.length === 0) return "no [[models]] are configured";
  const shown = config.models.slice(0, shownModels).map(shownName).join(", ");
  const more = config.models.length - shownModels;
  return `configured are ${shown}${more > 0 ? ` and ${more} more` : ""}`;
}

function checkedBaseUrl(text: string, name: ModelName, place: { file: string }): string {
  const result = readBaseUrl(text);
  if (result.ok) return result.url;
  throw new ConfigError("invalid_value", `base_url of the model ${shownName(name)} ${result.problem}`, place);
}

function isPlainRemote(baseUrl: string): boolean {
  return URL.canParse(baseUrl) && new URL(baseUrl).protocol === "http:" && !isLoopback(baseUrl);
}

function findKey({ projectConfig, env }: ResolveModelOptions, entry: ModelEntry): string | undefined {
  const place = { file: projectConfig.path };
  const found = storedKey(entry, env);
  if (found !== undefined) {
    if (isPossibleKey(found.key)) return found.key;
    const field = found.variable === undefined ? "api_key" : `the environment variable ${found.variable}`;
    throw new ConfigError(
      "invalid_value",
      `${field} of the model ${shownName(entry)} holds spaces or characters that no key has; copy it again`,
      place,
    );
  }
  const origin = keyOrigin(entry, env);
  if (origin.from !== "missing") return undefined;
  throw new ConfigError(
    "missing_key",
    `no key for the model ${shownName(entry)}; set the environment variable ${origin.variable}, or api_key in its [[models]] entry`,
    place,
  );
}
