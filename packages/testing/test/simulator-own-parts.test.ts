import { fakeEnvironment, simulate } from "@coxswain/testing";
import { describe, expect, it, vi } from "vitest";
import { simCommand } from "../src/simulator/command.ts";
import { reproduction, shrink } from "../src/simulator/shrink.ts";

describe("a life with tools of one's own", () => {
  it("runs them, and says the prompts that it was given", async () => {
    let ran = 0;
    const asked = new Set<string>();
    for (let seed = 1; seed <= 40; seed += 1) {
      const { observations, violation } = await simulate({
        seed,
        tools: { count: () => `${++ran}` },
        prompts: ["Count."],
      });
      expect(violation, `seed ${seed}`).toBeUndefined();
      for (const seen of observations) {
        if (seen.at !== "run") continue;
        for (const { payload } of seen.input) if (payload.type === "text") asked.add(payload.text.split(" ")[0] ?? "");
      }
    }
    expect(ran).toBeGreaterThan(20);
    expect(asked).toContain("Count.");
  });

  it("opens an environment for each process, and disposes of them all", async () => {
    const opened: ReturnType<typeof fakeEnvironment>[] = [];
    let processes = 0;
    for (let seed = 1; seed <= 40; seed += 1) {
      const environment = () => {
        const one = fakeEnvironment({ echo: () => "echo" });
        opened.push(one);
        return one;
      };
      const { totals } = await simulate({ seed, environment, calls: () => [{ name: "echo", arguments: "{}" }] });
      processes += 1 + totals.resumes;
    }
    expect(opened).toHaveLength(processes);
    expect(opened.every((one) => one.isDisposed)).toBe(true);
    expect(opened.some((one) => one.executed.length > 0)).toBe(true);
  });

  it("may have a tool that never answers", async () => {
    for (let seed = 1; seed <= 10; seed += 1) {
      const { violation } = await simulate({ seed, tools: { hang: () => new Promise<string>(() => undefined) } });
      expect(violation, `seed ${seed}`).toBeUndefined();
    }
  });

  it("is told of a rule of one's own that is broken", async () => {
    const { violation } = await simulate({ seed: 1, check: ({ totals }) => `there were ${totals.runs} runs` });
    expect(violation).toMatchObject({ invariant: "check", problem: expect.stringMatching(/^there were \d runs$/) });
  });
});

describe("a failing life", () => {
  it("is made smaller as long as it fails", async () => {
    const options = {
      seed: 3,
      check: ({ totals }: { totals: { runs: number; steps: number } }) =>
        totals.steps > 2 ? "it did something" : undefined,
    };
    const shrunk = await shrink(options, await simulate(options));
    expect(shrunk.simulation.violation?.invariant).toBe("check");
    expect(shrunk.without).toContain("deaths");
    expect(shrunk.simulation.totals.runs).toBe(1);
    expect(reproduction(shrunk)).toMatch(/^npm run sim -- --seed 3 .*--without ".*deaths/);
  });
});

describe("the command", () => {
  it.each([
    [["--seed", "x"], '--seed takes an integer, not "x"'],
    [["--without", "gravity"], '--without knows no "gravity"'],
    [["--speed", "1"], "Unknown option '--speed'"],
  ])("says what is wrong with %j", async (args, words) => {
    const error = vi.spyOn(console, "error").mockImplementation(() => undefined);
    expect(await simCommand(args)).toBe(2);
    expect(error.mock.calls.join()).toContain(words);
    error.mockRestore();
  });

  it("prints the schedule of a seed", async () => {
    const log = vi.spyOn(console, "log").mockImplementation(() => undefined);
    expect(await simCommand(["--seed", "4", "--log"])).toBe(0);
    expect(log.mock.calls.join("\n")).toContain("process 1 begins");
    expect(log.mock.calls.at(-1)).toEqual(["seed 4: every rule held"]);
    log.mockRestore();
  });
});
