/** Adds, changes and removes models in `project_config.toml`; what a person wrote around them stays. */
import { isDeepStrictEqual } from "node:util";
import { knownProvider } from "../llm/provider/known-providers.ts";
import { wordsOf } from "../shared/error-words.ts";
import { ConfigError } from "./config-error.ts";
import { type ModelChange, planModel } from "./model-change.ts";
import { type ModelFieldValues, ModelsInToml } from "./models-in-toml.ts";
import {
  isSameModel,
  type ModelEntry,
  type ModelName,
  parseProjectConfig,
  type ProjectConfig,
} from "./project-config.ts";
import { replaceConfig } from "./replace-config.ts";
import { configuredModels, shownName } from "./resolve-model.ts";

export interface ModelEdit {
  /** Whether there was no such model before. */
  isNew: boolean;
  isDefault: boolean;
  /** The key that was stored does not go to the new address. */
  droppedKey: boolean;
}

/**
 * Adds a model, or changes the one of that name. A stored key goes when the address changes, unless it is given again.
 *
 * @throws ConfigError when the file cannot be read or written, or the change cannot be made; the file is then as it was
 */
export function setModel(path: string, change: ModelChange): Promise<ModelEdit> {
  return edit(path, (config, toml) => {
    const { entry, droppedKey } = planModel(config, change);
    const index = indexOf(config, change);
    const old = config.models[index];
    if (old === undefined) toml.add(entry, fieldValues(entry));
    else toml.change(index, differing(fieldValues(old), fieldValues(entry)));
    const models = old === undefined ? [...config.models, entry] : config.models.with(index, entry);
    const name = { provider: change.provider, modelId: change.modelId };
    const { asDefault } = change;
    const becomesDefault = asDefault === "always" || (asDefault === "when-none" && config.defaultModel === undefined);
    if (becomesDefault && !isSameModel(name, config.defaultModel)) toml.setDefault(name);
    const defaultModel = becomesDefault ? name : config.defaultModel;
    return {
      expected: { ...config, models, defaultModel },
      result: { isNew: old === undefined, isDefault: isSameModel(name, defaultModel), droppedKey },
    };
  });
}

/** @throws ConfigError, also for a model that is neither configured nor of a known provider */
export function setDefaultModel(path: string, name: ModelName): Promise<void> {
  return edit(path, (config, toml) => {
    if (indexOf(config, name) === -1 && knownProvider(name.provider) === undefined) throw notConfigured(config, name);
    const defaultModel = { provider: name.provider, modelId: name.modelId };
    if (!isSameModel(name, config.defaultModel)) toml.setDefault(defaultModel);
    return { expected: { ...config, defaultModel }, result: undefined };
  });
}

/**
 * Removes a model; if it is the default, there is none afterwards.
 *
 * @throws ConfigError, also when it is not configured
 */
export function removeModel(path: string, name: ModelName): Promise<{ wasDefault: boolean }> {
  return edit(path, (config, toml) => {
    const index = indexOf(config, name);
    const wasDefault = isSameModel(name, config.defaultModel);
    if (index === -1 && !wasDefault) throw notConfigured(config, name);
    if (index !== -1) toml.remove(index);
    if (wasDefault) toml.removeDefault();
    const models = config.models.filter((_, at) => at !== index);
    const defaultModel = wasDefault ? undefined : config.defaultModel;
    return { expected: { ...config, models, defaultModel }, result: { wasDefault } };
  });
}

type Change<T> = (config: ProjectConfig, toml: ModelsInToml) => { expected: ProjectConfig; result: T };

function edit<T>(path: string, change: Change<T>): Promise<T> {
  return replaceConfig(path, async (file) => {
    const config = await parseProjectConfig(path, file);
    const { text, expected, result } = await changed(path, file.text, config, change);
    await verify(path, text, expected);
    return { text, result };
  });
}

async function changed<T>(path: string, before: string, config: ProjectConfig, change: Change<T>) {
  try {
    const toml = await ModelsInToml.of(before);
    const { expected, result } = change(config, toml);
    return { text: toml.text, expected, result };
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw cannotEdit(path, wordsOf(error), error);
  }
}

/** Nothing is written that would not be read back as what was asked for. */
async function verify(path: string, text: string, expected: ProjectConfig): Promise<void> {
  const read = await parseProjectConfig(path, { text, mode: 0o600 }).catch((error: unknown) => {
    throw cannotEdit(path, wordsOf(error), error);
  });
  const isAsked = isDeepStrictEqual({ ...read, warnings: [] }, { ...expected, warnings: [] });
  if (!isAsked) throw cannotEdit(path, "it is written in a way that is not understood well enough");
}

function cannotEdit(path: string, reason: string, cause?: unknown): ConfigError {
  const words = reason.split("\n")[0] ?? "";
  return new ConfigError("unwritable", `cannot be changed by a command (${words}); change it by hand`, {
    file: path,
    cause,
  });
}

function fieldValues(entry: ModelEntry): ModelFieldValues {
  return {
    protocol: entry.protocol,
    base_url: entry.baseUrl,
    api_key: entry.apiKey,
    context_window: entry.contextWindow,
    max_tokens: entry.maxTokens,
    vision: entry.vision,
  };
}

/** A value that is there already stays as it is written. */
function differing(before: ModelFieldValues, after: ModelFieldValues): ModelFieldValues {
  const fields = Object.entries(after).filter(([field, value]) => value !== before[field]);
  return Object.fromEntries(fields.map(([field, value]) => [field, value ?? null]));
}

function indexOf(config: ProjectConfig, name: ModelName): number {
  return config.models.findIndex((model) => isSameModel(model, name));
}

function notConfigured(config: ProjectConfig, name: ModelName): ConfigError {
  return new ConfigError(
    "unknown_model",
    `the model ${shownName(name)} is not configured; ${configuredModels(config)}`,
    {
      file: config.path,
    },
  );
}
