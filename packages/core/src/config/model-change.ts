/** What a change makes of the entry of a model. What it refuses could not be used, or not be written. */
import { readBaseUrl } from "../llm/http/base-url.ts";
import { type ModelProtocol, modelProtocols } from "../llm/model-settings.ts";
import { knownProvider, knownProviders } from "../llm/provider/known-providers.ts";
import { ConfigError, showValue } from "./config-error.ts";
import { addressOf, protocolOf } from "./model-entry.ts";
import { isPossibleKey } from "./model-key.ts";
import { isSameModel, type ModelEntry, type ModelName, type ProjectConfig } from "./project-config.ts";
import { shownName } from "./resolve-model.ts";

/** `null` takes a field out; one that is absent stays as it is. */
export interface ModelChange extends ModelName {
  protocol?: ModelProtocol | null | undefined;
  baseUrl?: string | null | undefined;
  apiKey?: string | null | undefined;
  /** Tokens. */
  contextWindow?: number | null | undefined;
  /** Tokens of one answer. */
  maxTokens?: number | null | undefined;
  vision?: boolean | null | undefined;
  /** `when-none`: only if there is no default model yet. */
  asDefault?: "always" | "when-none" | undefined;
}

export interface PlannedModel {
  entry: ModelEntry;
  /** The key that was stored does not go to the new address. */
  droppedKey: boolean;
}

/**
 * What `setModel` would make of the configuration.
 *
 * @throws ConfigError: `missing_value` when the model would lack what it needs, else for a value that cannot be one
 */
export function planModel(config: ProjectConfig, change: ModelChange): PlannedModel {
  checkValues(change, config.path);
  const old = config.models.find((model) => isSameModel(model, change));
  const entry = changedEntry(old, change);
  checkComplete(entry, config.path);
  const droppedKey = old?.apiKey !== undefined && change.apiKey === undefined && serverOf(old) !== serverOf(entry);
  return { entry: droppedKey ? { ...entry, apiKey: undefined } : entry, droppedKey };
}

function checkValues({ provider, modelId, baseUrl, apiKey, ...numbers }: ModelChange, file: string): void {
  for (const [field, value] of Object.entries({ provider, model_id: modelId })) {
    const isName = value.trim() === value && value !== "" && value.isWellFormed() && !/\p{Cc}/u.test(value);
    if (!isName) {
      throw new ConfigError("invalid_value", `${field} is ${showValue(value)}, but must be a name on one line`, {
        file,
      });
    }
  }
  if (typeof baseUrl === "string") {
    const result = readBaseUrl(baseUrl);
    if (!result.ok) throw new ConfigError("invalid_value", `base_url ${result.problem}`, { file });
  }
  if (typeof apiKey === "string" && !isPossibleKey(apiKey)) {
    throw new ConfigError("invalid_value", "the key holds spaces or characters that no key has; copy it again", {
      file,
    });
  }
  for (const [field, value] of Object.entries({
    context_window: numbers.contextWindow,
    max_tokens: numbers.maxTokens,
  })) {
    if (typeof value === "number" && !(Number.isSafeInteger(value) && value >= 1)) {
      throw new ConfigError("invalid_value", `${field} is ${value}, but must be a whole number from 1 on`, { file });
    }
  }
}

function changedEntry(old: ModelEntry | undefined, change: ModelChange): ModelEntry {
  const newest = <T>(value: T | null | undefined, before: T | undefined): T | undefined =>
    value === undefined ? before : (value ?? undefined);
  return {
    provider: change.provider,
    modelId: change.modelId,
    protocol: newest(change.protocol, old?.protocol),
    baseUrl: newest(change.baseUrl, old?.baseUrl),
    apiKey: newest(change.apiKey, old?.apiKey),
    contextWindow: newest(change.contextWindow, old?.contextWindow),
    maxTokens: newest(change.maxTokens, old?.maxTokens),
    vision: newest(change.vision, old?.vision),
    pricing: old?.pricing,
  };
}

/** A provider that nobody knows must say what it speaks, and where. */
function checkComplete(entry: ModelEntry, file: string): void {
  const protocol = protocolOf(entry);
  const missing: string[] = [];
  if (protocol === undefined) missing.push(`protocol (one of ${modelProtocols.join(", ")})`);
  if (protocol !== "offline" && addressOf(entry) === undefined) missing.push("base_url (where it is)");
  if (missing.length === 0) return;
  const why =
    knownProvider(entry.provider) === undefined
      ? `is no known provider (known are ${Object.keys(knownProviders).join(", ")})`
      : `has no usual address for ${protocol}`;
  throw new ConfigError(
    "missing_value",
    `the model ${shownName(entry)} needs ${missing.join(" and ")}: ${showValue(entry.provider)} ${why}`,
    { file },
  );
}

/** As it is always written: two entries with the same one send their keys to the same place. */
function serverOf(entry: ModelEntry): string | undefined {
  const address = addressOf(entry);
  const result = readBaseUrl(address ?? "");
  return result.ok ? result.url : address;
}
