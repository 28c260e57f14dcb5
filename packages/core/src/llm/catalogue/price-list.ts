/** Finds models in the public price list, which comes with a package and is loaded when it is first asked. */
import type { MatchLogic, ModelInfo, ModelPrice, Provider } from "@pydantic/genai-prices";
import type { ModelPrices, TokenPrice } from "./model-cost.ts";

/** What may follow a model's name without making it another model: dates, versions, and words such as `latest`. */
const editions =
  /^(?:\d{2,4}(?=[-@:]|$))?(?:(?:^|[-@:])(?:latest|preview|beta|exp|thinking|instruct|v\d+|\d{4}-\d{2}-\d{2}|\d{2}-\d{4}|\d{2}-\d{2}|\d{3,8}|(?<=:)0))*$/;
/** An edition that the list may not know yet; the model without it is the same one. */
const newestEdition = /[-@](?:latest|20\d{2}-\d{2}-\d{2}|20\d{6})$/;
const maxIdLength = 128;

export interface ListedModel {
  /** Tokens. */
  contextWindow: number | undefined;
  /** @param atMs When the request was made: prices change, and may depend on the time of day. */
  prices(atMs: number): ModelPrices | undefined;
}

/** @param providerId As the list names it. */
export async function findListedModel(providerId: string, modelId: string): Promise<ListedModel | undefined> {
  const id = modelId.toLowerCase().trim();
  if (id.length > maxIdLength) return undefined;
  const { calcPrice, findProvider } = await import("@pydantic/genai-prices");
  const provider = findProvider({ providerId });
  // The list also finds providers by names that are only alike.
  if (provider?.id !== providerId) return undefined;
  const model = findModel(provider, id) ?? findModel(provider, id.replace(newestEdition, ""));
  if (model === undefined) return undefined;
  const alone: Provider = { ...provider, models: [{ ...model, match: { equals: id } }] };
  return {
    contextWindow: model.context_window,
    prices: (atMs) => {
      const found = calcPrice({}, id, { provider: alone, timestamp: new Date(atMs) });
      return found === null ? undefined : tokenPrices(found.model_price);
    },
  };
}

function findModel(provider: Provider, id: string): ModelInfo | undefined {
  return provider.models.find((model) => names(model.match, id));
}

/** Whether the rule means this model. The list itself takes any name that begins alike; that would be a guess. */
function names(match: MatchLogic, id: string): boolean {
  if ("or" in match) return match.or.some((one) => names(one, id));
  if ("and" in match) return match.and.every((one) => names(one, id));
  if ("equals" in match) return id === match.equals.toLowerCase();
  if ("regex" in match) return new RegExp(match.regex).test(id);
  if ("starts_with" in match) return isEditionOf(match.starts_with.toLowerCase(), id);
  if ("ends_with" in match) return id.endsWith(match.ends_with.toLowerCase());
  const start = id.indexOf(match.contains.toLowerCase());
  return start !== -1 && isEditionOf(match.contains.toLowerCase(), id.slice(start));
}

function isEditionOf(name: string, id: string): boolean {
  if (!id.startsWith(name)) return false;
  const rest = id.slice(name.length);
  // What is fine-tuned bears the name of its owner.
  return name.startsWith("ft:") || editions.test(rest);
}

function tokenPrices(price: ModelPrice): ModelPrices | undefined {
  const input = tokenPrice(price["input_mtok"]);
  const output = tokenPrice(price["output_mtok"]);
  if (input === undefined && output === undefined) return undefined;
  return {
    input,
    output,
    cacheRead: tokenPrice(price["cache_read_mtok"]),
    cacheWrite: tokenPrice(price["cache_write_mtok"]),
  };
}

function tokenPrice(price: ModelPrice[string]): TokenPrice | undefined {
  if (price === undefined || typeof price === "number") return price;
  const tiers = price.tiers.map(({ start, price: above }) => ({ start, price: above }));
  return { base: price.base, tiers: tiers.sort((a, b) => a.start - b.start) };
}
