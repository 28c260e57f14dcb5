/** The configured models as they stand, and where each value comes from; never a key. */
import { shownAddress } from "../llm/http/base-url.ts";
import { knownModel } from "../llm/catalogue/known-model.ts";
import type { ModelPrices, TokenPrice } from "../llm/catalogue/model-cost.ts";
import type { ModelProtocol } from "../llm/model-settings.ts";
import { givenAddress, impliedAddress, impliedProtocol } from "./model-entry.ts";
import { type KeyOrigin, keyOrigin, type Variables } from "./model-key.ts";
import { isSameModel, type ModelEntry, type ModelName, type ProjectConfig } from "./project-config.ts";

/** `implied`: by the name of a known provider, or by the protocol. */
export type ValueOrigin = "configured" | "implied" | "catalogue" | "unknown";

export interface DescribedValue<T> {
  /** Absent when it is unknown. */
  value?: T;
  from: ValueOrigin;
}

export interface ModelDescription extends ModelName {
  isDefault: boolean;
  protocol: DescribedValue<ModelProtocol>;
  baseUrl: DescribedValue<string>;
  /** Tokens. */
  contextWindow: DescribedValue<number>;
  /** Tokens of one answer. */
  maxTokens: DescribedValue<number>;
  vision: DescribedValue<boolean>;
  /** US dollars per million tokens. */
  prices: Record<keyof ModelPrices, DescribedValue<TokenPrice>>;
  key: KeyOrigin;
}

export interface DescribeModelsOptions {
  projectConfig: ProjectConfig;
  env: Variables;
  /** Milliseconds since the epoch: prices change. */
  atMs: number;
}

/** In the order of the file; a default model without an entry comes first. */
export async function describeModels(options: DescribeModelsOptions): Promise<ModelDescription[]> {
  const { models, defaultModel } = options.projectConfig;
  const isDefault = (model: ModelName): boolean => isSameModel(model, defaultModel);
  const entries: ModelEntry[] =
    defaultModel === undefined || models.some(isDefault) ? models : [defaultModel, ...models];
  return Promise.all(entries.map((entry) => describe(entry, isDefault(entry), options)));
}

async function describe(
  entry: ModelEntry,
  isDefault: boolean,
  { env, atMs }: DescribeModelsOptions,
): Promise<ModelDescription> {
  const { provider, modelId } = entry;
  const known = knownModel(entry);
  const listed = await known?.prices(atMs);
  const price = (field: keyof ModelPrices): DescribedValue<TokenPrice> =>
    described<TokenPrice>(entry.pricing?.[field], listed?.[field], "catalogue");
  const contextWindow = entry.contextWindow === undefined ? await known?.contextWindow() : undefined;
  return {
    provider,
    modelId,
    isDefault,
    protocol: described(entry.protocol, impliedProtocol(entry), "implied"),
    baseUrl: described(shown(givenAddress(entry)), impliedAddress(entry), "implied"),
    contextWindow: described(entry.contextWindow, contextWindow, "catalogue"),
    maxTokens: described(entry.maxTokens, undefined, "catalogue"),
    vision: described(entry.vision, known?.vision, "catalogue"),
    prices: {
      input: price("input"),
      output: price("output"),
      cacheRead: price("cacheRead"),
      cacheWrite: price("cacheWrite"),
    },
    key: keyOrigin(entry, env),
  };
}

function described<T>(configured: T | undefined, known: T | undefined, origin: ValueOrigin): DescribedValue<T> {
  if (configured !== undefined) return { value: configured, from: "configured" };
  return known === undefined ? { from: "unknown" } : { value: known, from: origin };
}

function shown(address: string | undefined): string | undefined {
  return address === undefined ? undefined : shownAddress(address);
}
