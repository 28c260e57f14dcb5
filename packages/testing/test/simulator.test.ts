import { simulate, totalNames, type Totals } from "@coxswain/testing";
import { describe, expect, it } from "vitest";

const seeds = 2_000;

describe("a Session that is lived through over and over", () => {
  it("keeps every rule, whatever happens to it, and everything does", async () => {
    const totals = Object.fromEntries(totalNames.map((name) => [name, 0])) as Totals;
    for (let seed = 1; seed <= seeds; seed += 1) {
      const simulation = await simulate({ seed });
      if (simulation.violation !== undefined) {
        const { invariant, problem } = simulation.violation;
        expect.fail(`${invariant}: ${problem}\nnpm run sim -- --seed ${seed}`);
      }
      for (const name of totalNames) totals[name] += simulation.totals[name];
    }
    expect(totals.schedules).toBe(seeds);
    expect(totalNames.filter((name) => totals[name] === 0)).toEqual([]);
  }, 600_000); // A limit for a machine that does much else besides.

  it("keeps them also when every beginning of its Trace is read back, and every life is forked", async () => {
    for (let seed = 1; seed <= 60; seed += 1) {
      const { violation } = await simulate({ seed, isThorough: true });
      expect(violation, `seed ${seed}`).toBeUndefined();
    }
  });
});

describe("a seed", () => {
  it("lives the same life each time, to the byte", async () => {
    for (let seed = 1; seed <= 30; seed += 1) {
      const [first, second] = [await simulate({ seed }), await simulate({ seed })];
      expect(second.schedule()).toEqual(first.schedule());
      expect(JSON.stringify(second.contexts)).toBe(JSON.stringify(first.contexts));
    }
  });

  it("lives another life than its neighbour", async () => {
    const lives = await Promise.all([1, 2, 3].map((seed) => simulate({ seed })));
    const schedules = lives.map((life) => life.schedule().join("\n"));
    expect(new Set(schedules).size).toBe(3);
  });

  it("must be an integer", async () => {
    await expect(simulate({ seed: 1.5 })).rejects.toThrow("seed must be an integer, but is 1.5");
  });
});

describe("a life that does without something", () => {
  it("has none of it", async () => {
    for (let seed = 1; seed <= 40; seed += 1) {
      const { totals } = await simulate({ seed, without: ["deaths", "interrupts", "compaction", "steering"] });
      expect([totals.deaths, totals["summary requests"], totals.steers]).toEqual([0, 0, 0]);
    }
  });

  it("lives no more runs than it may", async () => {
    for (let seed = 1; seed <= 20; seed += 1) {
      const { totals } = await simulate({ seed, maxRuns: 1 });
      expect(totals.runs).toBe(1);
    }
  });
});
