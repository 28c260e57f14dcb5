/** From what is configured to the one model that a Session talks to. */
import { readBaseUrl } from "../llm/http/base-url.ts";
import {
  type KnownProvider,
  type ModelProtocol,
  type ModelSettings,
  supportedProtocols,
} from "../llm/model-settings.ts";
import { ConfigError, nearestName, showValue } from "./config-error.ts";
import type { ModelEntry, ModelName, ProjectConfig } from "./project-config.ts";

/** What is known of a model without configuration. */
export interface KnownModel {
  contextWindow?: number | undefined;
  maxOutputTokens?: number | undefined;
  vision?: boolean | undefined;
}

export interface ResolveModelOptions {
  projectConfig: ProjectConfig;
  /** Default: the Project's default model; with only one of the two given, the model of that name. */
  provider?: string | undefined;
  modelId?: string | undefined;
  env: Readonly<Record<string, string | undefined>>;
  knownProviders: Readonly<Record<string, KnownProvider>>;
  knownModel?: ((name: ModelName) => KnownModel | undefined) | undefined;
}

export interface ResolvedModel {
  settings: ModelSettings;
  /** One line each. */
  warnings: string[];
}

const offline = "offline";
const shownModels = 12;

/** @throws ConfigError of kind `auth` when only the key is missing, else `usage` */
export function resolveModel(options: ResolveModelOptions): ResolvedModel {
  const name = chooseModel(options);
  const entry = findEntry(options.projectConfig, name);
  const provider = ownProperty(options.knownProviders, name.provider);
  const protocol = entry?.protocol ?? provider?.protocol ?? (name.provider === offline ? "offline" : undefined);
  if (protocol === undefined) throw unknownModel(options, name, entry);
  // Before the key: nobody should get one for nothing.
  if (!supportedProtocols.includes(protocol)) throw unsupported(options, name, protocol);
  const warnings: string[] = [];
  const place = { file: options.projectConfig.path };
  const given = entry?.baseUrl?.trim();
  const baseUrl = given === undefined || given === "" ? provider?.baseUrl : checkedBaseUrl(given, name, place);
  const apiKey = protocol === "offline" ? undefined : findKey(options, name, entry, provider, given);
  if (baseUrl !== undefined && apiKey !== undefined && isPlainRemote(baseUrl)) {
    warnings.push(`the key of ${shownName(name)} goes to ${new URL(baseUrl).origin} without encryption; use https`);
  }
  const known = options.knownModel?.(name);
  const settings: ModelSettings = {
    ...name,
    protocol,
    baseUrl,
    apiKey,
    contextWindow: entry?.contextWindow ?? known?.contextWindow ?? 0,
    maxOutputTokens: entry?.maxTokens ?? known?.maxOutputTokens,
    vision: entry?.vision ?? known?.vision ?? false,
  };
  return { settings, warnings };
}

function unsupported(options: ResolveModelOptions, name: ModelName, protocol: ModelProtocol): ConfigError {
  return new ConfigError(
    "unsupported",
    `the model ${shownName(name)} speaks ${showValue(protocol)}, which is not supported in this version; use a server that speaks "openai-chat", or the provider "${offline}"`,
    { file: options.projectConfig.path },
  );
}

function chooseModel(options: ResolveModelOptions): ModelName {
  const { projectConfig, provider, modelId } = options;
  const { defaultModel, models } = projectConfig;
  if (provider !== undefined && modelId !== undefined) return { provider, modelId };
  if (provider === undefined && modelId === undefined) {
    if (defaultModel !== undefined) return defaultModel;
    throw new ConfigError(
      "no_model",
      `no default model; add a line such as default_model = { provider = "openai", model_id = "gpt-5" }, or choose the provider "${offline}", which needs no key (cox run --provider ${offline})`,
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
      ? `no model ${showValue(modelId)} is configured; ${configured(projectConfig)}`
      : `which model of ${showValue(provider)}? name it; ${configured(projectConfig)}`,
    { file: projectConfig.path },
  );
}

function findEntry(config: ProjectConfig, name: ModelName): ModelEntry | undefined {
  return config.models.find((model) => model.provider === name.provider && model.modelId === name.modelId);
}

function ownProperty<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined;
}

function unknownModel(options: ResolveModelOptions, name: ModelName, entry: ModelEntry | undefined): ConfigError {
  const place = { file: options.projectConfig.path };
  if (entry !== undefined) {
    return new ConfigError(
      "missing_value",
      `protocol of the model ${shownName(name)} is missing; it must be "openai-chat" or "offline", since the provider is not a known one`,
      place,
    );
  }
  const known = Object.keys(options.knownProviders);
  const nearest = nearestName(name.provider, known);
  const hint =
    nearest === undefined ? `known providers are ${known.join(", ")}` : `did you mean the provider ${nearest}?`;
  return new ConfigError(
    "unknown_model",
    `the model ${shownName(name)} is not known; ${configured(options.projectConfig)}; ${hint}`,
    place,
  );
}

function shownName(name: ModelName): string {
  return `${showValue(name.provider)} ${showValue(name.modelId)}`;
}

function configured(config: ProjectConfig): string {
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

function isLoopback(address: string): boolean {
  if (!URL.canParse(address)) return false;
  const { hostname } = new URL(address);
  return (
    hostname === "localhost" ||
    hostname.endsWith(".localhost") ||
    hostname === "[::1]" ||
    /^127(\.\d+){3}$/.test(hostname)
  );
}

function findKey(
  options: ResolveModelOptions,
  name: ModelName,
  entry: ModelEntry | undefined,
  provider: KnownProvider | undefined,
  givenUrl: string | undefined,
): string | undefined {
  const place = { file: options.projectConfig.path };
  const variable = provider?.apiKeyVariable;
  const fromFile = entry?.apiKey?.trim() ?? "";
  const key = fromFile !== "" ? fromFile : (variable === undefined ? "" : (options.env[variable] ?? "")).trim();
  if (key !== "") {
    if (/^[\x21-\x7e]+$/.test(key)) return key;
    const field = fromFile !== "" ? "api_key" : `the environment variable ${variable}`;
    throw new ConfigError(
      "invalid_value",
      `${field} of the model ${shownName(name)} holds spaces or characters that no key has; copy it again`,
      place,
    );
  }
  // Of a provider that we do not know, or a server on this machine, we cannot know that it wants one.
  if (variable === undefined || (givenUrl !== undefined && isLoopback(givenUrl))) return undefined;
  throw new ConfigError(
    "missing_key",
    `no key for the model ${shownName(name)}; set the environment variable ${variable}, or api_key in its [[models]] entry`,
    place,
  );
}
