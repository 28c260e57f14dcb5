/** What a request costs. */
import type { TokenCounts } from "@coxswain/protocol";

/** US dollars per million tokens. */
export type TokenPrice = number | TieredPrice;

/** Holds for a whole request, by how much it sends. */
export interface TieredPrice {
  base: number;
  /** Ascending; each holds for requests with more input tokens than `start`, cached ones counted. */
  tiers: readonly { start: number; price: number }[];
}

export interface ModelPrices {
  input?: TokenPrice | undefined;
  output?: TokenPrice | undefined;
  /** Default: as `input`. */
  cacheRead?: TokenPrice | undefined;
  /** Default: as `input`. */
  cacheWrite?: TokenPrice | undefined;
}

/** What is configured has the last word, field by field. */
export function mergePrices(configured: ModelPrices | undefined, known: ModelPrices | undefined): ModelPrices {
  return {
    input: configured?.input ?? known?.input,
    output: configured?.output ?? known?.output,
    cacheRead: configured?.cacheRead ?? known?.cacheRead,
    cacheWrite: configured?.cacheWrite ?? known?.cacheWrite,
  };
}

/**
 * US dollars; `undefined` when a price that is needed is not known.
 *
 * @param counts Of one request: a price may depend on how much was sent. `input` is without what was cached.
 */
export function modelCost(counts: TokenCounts, prices: ModelPrices | undefined): number | undefined {
  if (prices === undefined) return undefined;
  const { input, output, cacheRead = input, cacheWrite = input } = prices;
  const sent = counts.input + counts.cache_read + counts.cache_write;
  const parts = [
    partCost(counts.input, input, sent),
    partCost(counts.cache_read, cacheRead, sent),
    partCost(counts.cache_write, cacheWrite, sent),
    partCost(counts.output, output, sent),
  ];
  let total = 0;
  for (const part of parts) {
    if (part === undefined) return undefined;
    total += part;
  }
  return total;
}

function partCost(tokens: number, price: TokenPrice | undefined, sent: number): number | undefined {
  if (tokens === 0) return 0;
  return price === undefined ? undefined : (tokens * priceAt(price, sent)) / 1e6;
}

/** US dollars per million tokens, in a request that sends so many. */
function priceAt(price: TokenPrice, sent: number): number {
  if (typeof price === "number") return price;
  return price.tiers.findLast(({ start }) => sent > start)?.price ?? price.base;
}
