import { scriptedLLM } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { allow, ask, collect, sent, setUp } from "./support.ts";

const compaction = { maxContextLength: 100, maxSessionTurns: -1, mode: "summarize", prompt: "Summarize." } as const;

describe("a retry that does not fit", () => {
  it("tells the next context what the attempts before it did", async () => {
    let charges = 0;
    const next = scriptedLLM([{ text: "done" }]);
    const bench = setUp(
      [
        { text: "ready" },
        { calls: [{ name: "charge" }], end: "timeout" },
        { end: "failed", outcome: { contextOverflow: true, errorMessage: "too long" } },
        { text: "[summary]nothing yet[/summary]" },
      ],
      { charge: () => `charge ${(charges += 1)} is done` },
      { compaction, createLLM: () => next, clock: { now: () => 0, sleep: () => Promise.resolve() } },
    );
    await collect(bench.engine.run(ask("hello")));
    await collect(bench.engine.run(ask("charge the order"), { approve: allow }));
    expect(charges).toBe(1);
    expect(JSON.stringify(sent(next.requests[0]?.newMessages ?? []))).toContain("charge 1 is done");
  });
});
