import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { readTraceFile } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { expectReplays } from "../../src/index.ts";
import { compareRequests } from "../../src/trace-replay/compare-requests.ts";
import { planReplay } from "../../src/trace-replay/plan.ts";
import { replay } from "../../src/trace-replay/replay.ts";

const kept = fileURLToPath(new URL("traces/", import.meta.url));

/** Written once, and kept: whoever changes what the engine does sees it here. */
describe("what an engine wrote once it would write again", () => {
  it.each(readdirSync(kept))("%s", async (name) => {
    const [report] = await expectReplays(`${kept}${name}`);
    expect(report?.requests.length).toBeGreaterThan(2);
  });
});

describe("the requests of a replay", () => {
  it("are compared with what the records imply", async () => {
    const contexts = await readTraceFile(`${kept}compactions.jsonl`);
    const plan = planReplay(contexts);
    const { requests } = await replay(contexts);
    expect(compareRequests(plan, requests)).toBeUndefined();
    for (const [at, request] of requests.entries()) {
      const { index, parameters } = request;
      const shorter = { index, parameters: { ...parameters, newMessages: parameters.newMessages.slice(1) } };
      const { place = "", found } = compareRequests(plan, requests.with(at, shorter)) ?? {};
      expect(place).toMatch(/^the request of record \d+ of context \d, its input/);
      expect(found).toBeDefined();
    }
    const [first] = requests;
    if (first === undefined) throw new Error("nothing was sent");
    const summary = { ...first, parameters: { ...first.parameters, purpose: "summary" as const } };
    expect(compareRequests(plan, [summary])).toMatchObject({ expected: '"turn"', found: '"summary"' });
    expect(compareRequests(plan, [{ ...first, index: 0 }])).toMatchObject({ expected: "no request here" });
  });
});
