/** What is known of models without configuration. Nothing here is a guess: what is not known for certain is absent. */
import { knownProvider } from "../provider/known-providers.ts";
import type { ModelPrices } from "./model-cost.ts";
import { findListedModel } from "./price-list.ts";
import { seesImages } from "./vision.ts";

export interface KnownModel {
  /** Absent: not known. */
  vision: boolean | undefined;
  /** Tokens. The public list is loaded when this is called, not before. */
  contextWindow(): Promise<number | undefined>;
  /** @param atMs When the request was made: prices change. */
  prices(atMs: number): Promise<ModelPrices | undefined>;
}

/** What the list calls providers that have another name in the SDK's packages. */
const packageListIds: ReadonlyMap<string, string> = new Map([
  ["gemini", "google"],
  ["moonshotai", "moonshotai"],
  ["togetherai", "together"],
  ["zai", "zai"],
]);

/** A gateway names a model with its maker in front. */
const gateways: ReadonlySet<string> = new Set(["openrouter"]);
/** Makers whose models only they serve, so that what is known of them holds behind a gateway too; its prices are its own. */
const closedMakers: ReadonlySet<string> = new Set(["anthropic", "openai", "google", "x-ai"]);
const weightsAreOpen = /^(?:gpt-oss|gemma)/;

/**
 * `undefined` for a provider that no list has, such as a server of one's own.
 *
 * @param name.provider As configured, or as a model of the AI SDK says it (`anthropic.messages`).
 */
export function knownModel(name: { provider: string; modelId: string }): KnownModel | undefined {
  const provider = (name.provider.split(".")[0] ?? "").toLowerCase();
  const listId = knownProvider(provider)?.listId ?? packageListIds.get(provider);
  if (listId === undefined) return undefined;
  const modelId = name.modelId.replace(/^models\//, "");
  const made = gateways.has(provider) ? behindGateway(modelId) : { maker: listId, modelId };
  return {
    vision: made === undefined ? undefined : seesImages(made.modelId),
    contextWindow: async () => {
      const listed = await findListedModel(listId, modelId);
      if (listed?.contextWindow !== undefined || made === undefined) return listed?.contextWindow;
      return (await findListedModel(made.maker, made.modelId))?.contextWindow;
    },
    prices: async (atMs) => (await findListedModel(listId, modelId))?.prices(atMs),
  };
}

function behindGateway(modelId: string): { maker: string; modelId: string } | undefined {
  const [, maker = "", id = ""] = /^([^/:]+)\/([^/:]+)/.exec(modelId) ?? [];
  const listId = maker.toLowerCase();
  return closedMakers.has(listId) && !weightsAreOpen.test(id) ? { maker: listId, modelId: id } : undefined;
}
