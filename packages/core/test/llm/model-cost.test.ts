import { calcPrice, findProvider } from "@pydantic/genai-prices";
import type { TokenCounts } from "@coxswain/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { knownModel } from "../../src/llm/catalogue/known-model.ts";
import { mergePrices, modelCost, type ModelPrices } from "../../src/llm/catalogue/model-cost.ts";
import { findListedModel } from "../../src/llm/catalogue/price-list.ts";
import { answerBody, type WireProtocol } from "./support/streams.ts";
import { countsOf, record } from "./support/usage.ts";

const now = Date.UTC(2026, 10, 2, 12);

/** The list counts cached tokens as input too. */
function asListUsage({ input, cache_read, cache_write, output }: TokenCounts): Record<string, number> {
  return {
    input_tokens: input + cache_read + cache_write,
    cache_read_tokens: cache_read,
    cache_write_tokens: cache_write,
    output_tokens: output,
  };
}

/** Where the public list has a model of each protocol. */
const listed: [WireProtocol, string, string][] = [
  ["openai-chat", "deepseek", "deepseek-chat"],
  ["openai-responses", "openai", "gpt-5"],
  ["anthropic", "anthropic", "claude-opus-4-5"],
  ["gemini", "google", "gemini-2.5-flash"],
];

describe("what a request costs", () => {
  it.each(listed)(
    "is the same seen through %s: each cached token once, at its own price",
    async (protocol, provider, modelId) => {
      const told = { input: 100, cached: 75, output: 10 };
      const usage = await countsOf(protocol, answerBody(protocol, [{ text: "Hi" }], { reason: "stop", usage: told }));
      expect(usage).toEqual(record(25, 75, 0, 10));
      const prices = { input: 4, output: 20, cacheRead: 0.4, cacheWrite: 5 };
      expect(modelCost(usage, prices)).toBeCloseTo((25 * 4 + 75 * 0.4 + 10 * 20) / 1e6, 12);
      const expected = calcPrice(asListUsage(usage), modelId, { providerId: provider, timestamp: new Date(now) });
      expect(modelCost(usage, await knownModel({ provider, modelId })?.prices(now))).toBeCloseTo(
        expected?.total_price ?? Number.NaN,
        12,
      );
    },
  );

  it("is what the public list reckons, for every model that it prices by tokens alone", async () => {
    let compared = 0;
    for (const providerId of ["anthropic", "openai", "google", "deepseek", "moonshotai", "x-ai", "openrouter"]) {
      for (const { id, match } of findProvider({ providerId })?.models ?? []) {
        if (!JSON.stringify(match).includes(`"${id}"`)) continue;
        const prices = (await findListedModel(providerId, id))?.prices(now);
        if (prices?.input === undefined || prices.output === undefined) continue;
        for (const usage of [record(25, 75, 0, 10), record(10, 0, 5, 1), record(190_000, 100_000, 9_000, 4_000)]) {
          const expected = calcPrice(asListUsage(usage), id, { providerId, timestamp: new Date(now) });
          expect([providerId, id, modelCost(usage, prices)?.toFixed(9)]).toEqual([
            providerId,
            id,
            expected?.total_price.toFixed(9),
          ]);
        }
        compared += 1;
      }
    }
    expect(compared).toBeGreaterThan(500);
  });

  it("follows the prices of the day of the request", async () => {
    const model = knownModel({ provider: "openai", modelId: "o3" });
    const early = modelCost(record(1_000_000, 0, 0, 0), await model?.prices(Date.UTC(2025, 4, 1)));
    const late = modelCost(record(1_000_000, 0, 0, 0), await model?.prices(Date.UTC(2025, 8, 1)));
    expect([early, late]).toEqual([10, 2]);
  });

  it("is unknown when a price that is needed is", () => {
    expect(modelCost(record(1, 0, 0, 1), undefined)).toBeUndefined();
    expect(modelCost(record(1, 0, 0, 1), { input: 1 })).toBeUndefined();
    expect(modelCost(record(0, 1, 0, 0), { output: 1 })).toBeUndefined();
    expect(modelCost(record(1, 0, 0, 0), { input: 1 })).toBe(1e-6);
    expect(modelCost(record(0, 0, 0, 0), {})).toBe(0);
  });

  it("takes the price of input for cached tokens where they have none of their own", () => {
    expect(modelCost(record(0, 1_000_000, 1_000_000, 0), { input: 3 })).toBe(6);
    expect(modelCost(record(0, 1_000_000, 1_000_000, 0), { input: 3, cacheRead: 0 })).toBe(3);
  });

  it("rises for the whole request once it sends more than a tier begins at", () => {
    const prices: ModelPrices = {
      input: {
        base: 1,
        tiers: [
          { start: 100, price: 2 },
          { start: 200, price: 4 },
        ],
      },
      output: 0,
    };
    const perToken = [100, 101, 200, 201].map(
      (sent) => ((modelCost(record(sent - 50, 50, 0, 9), prices) ?? 0) / sent) * 1e6,
    );
    expect(perToken.map((price) => Number(price.toFixed(9)))).toEqual([1, 2, 2, 4]);
  });

  it("takes each price from the configuration where that has one, zero too", () => {
    const known = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
    expect(mergePrices({ output: 20, cacheRead: 0 }, known)).toEqual({ ...known, output: 20, cacheRead: 0 });
    expect(mergePrices(undefined, known)).toEqual(known);
    expect(modelCost(record(1, 1, 0, 1), mergePrices({}, undefined))).toBeUndefined();
  });

  it("never falls when more tokens are counted", () => {
    const tokens = fc.nat({ max: 300_000 });
    const prices = { input: { base: 3, tiers: [{ start: 200_000, price: 6 }] }, output: 15, cacheRead: 0.3 };
    fc.assert(
      fc.property(tokens, tokens, tokens, tokens, (input, read, write, output) => {
        const cost = modelCost(record(input, read, write, output), prices) ?? Number.NaN;
        const more = modelCost(record(input + 1, read + 1, write + 1, output + 1), prices) ?? Number.NaN;
        expect(more).toBeGreaterThan(cost);
      }),
    );
  });
});
