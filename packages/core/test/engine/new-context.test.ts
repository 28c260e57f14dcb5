import { type CompactionSettings, type EngineState, isPayload, type LLMInterface, replayTrace } from "@coxswain/core";
import { scriptedLLM, type ScriptedStep } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { notPlayed } from "../../../testing/test/every-trace.ts";
import { allow, ask, type Bench, collect, expectSound, outline, sent, setUp } from "./support.ts";

const settings: CompactionSettings = {
  maxContextLength: 100,
  maxSessionTurns: -1,
  mode: "summarize",
  prompt: "Summarize.",
};
const big = { input: 100, total: 105 };

function setUpCompaction(
  steps: readonly ScriptedStep[],
  createLLM: () => LLMInterface,
  overrides: Partial<CompactionSettings> = {},
): Bench {
  return setUp(steps, { a: () => "A" }, { compaction: { ...settings, ...overrides }, createLLM });
}

/** The first so many calls fail. */
function opening(llm: LLMInterface, failures: number): () => LLMInterface {
  let calls = 0;
  return () => {
    calls += 1;
    if (calls <= failures) throw new Error("the credentials are locked");
    return llm;
  };
}

describe("a context that follows a compaction, and is interrupted before anything is done", () => {
  it.each(["summarize", "discard"] as const)(
    "begins with its tools, and knows that compacting did not help (%s)",
    async (mode) => {
      const next = scriptedLLM([{ text: "still big", usage: big }]);
      const bench = setUpCompaction([{ text: "answer", usage: big }, { text: "short" }], () => next, { mode });
      const first = await collect(bench.engine.run(ask("first")));
      const interrupted = await collect(bench.engine.run(ask("second"), { signal: AbortSignal.abort() }));
      expect(outline(interrupted)).toEqual(["session_meta", "tool_list_ready", "abort"]);
      expect(bench.engine.state).toMatchObject({ firstRequestTotal: 0 });
      expect(replayTrace(bench.trace.newest)).toMatchObject({ firstRequestTotal: 0 });
      const stream = await collect(bench.engine.run(ask("third")));
      const notices = stream.flatMap((message) => (isPayload(message, "notice") ? [message.payload.code] : []));
      expect(notices).toEqual(["compaction_off"]);
      expect(outline(stream)).not.toContain("compaction_begin");
      expectSound(bench, [...first, ...interrupted, ...stream]);
    },
  );

  it("tells of no tools that nobody has listed yet, but does with the next input", async () => {
    const before = setUpCompaction([{ text: "answer", usage: big }, { text: "short" }], () => scriptedLLM([]));
    await collect(before.engine.run(ask("first")));
    notPlayed(before.trace, "nothing in it says that another process went on");
    const initialState: EngineState = replayTrace(before.trace.newest);
    const bench = setUp([{ text: "ok" }], { a: () => "A" }, { initialState, trace: before.trace });
    const interrupted = await collect(bench.engine.run(ask("second"), { signal: AbortSignal.abort() }));
    expect(outline(interrupted)).toEqual(["session_meta", "abort"]);
    const stream = await collect(bench.engine.run(ask("third")));
    expect(outline(stream).slice(0, 2)).toEqual(["tool_list_ready", "request_begin"]);
  });
});

describe("a model that cannot be opened when a compaction completes", () => {
  it("is opened with the next request, and the old one hears no more", async () => {
    const next = scriptedLLM([{ text: "fresh" }]);
    const bench = setUpCompaction([{ text: "answer", usage: big }, { text: "short" }], opening(next, 1));
    const stream = await collect(bench.engine.run(ask("first")));
    expect(outline(stream).at(-1)).toBe("compaction_end completed");
    expectSound(bench, stream);
    const second = await collect(bench.engine.run(ask("second")));
    expect(outline(second).at(-1)).toBe("request_end completed");
    expect(bench.llm.requests).toHaveLength(2);
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([{ sender: "harness" }, { text: "second" }]);
    expectSound(bench, [...stream, ...second]);
  });

  it("does not stop a Task in its middle when it can be opened at once", async () => {
    const next = scriptedLLM([{ text: "done" }]);
    const bench = setUpCompaction(
      [{ calls: [{ name: "a" }], usage: big }, { text: "[summary]so far[/summary]" }],
      opening(next, 1),
    );
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(outline(stream).at(-1)).toBe("request_end completed");
    expect(next.requests).toHaveLength(1);
    expectSound(bench, stream);
  });

  it("ends each run with the reason until it can be, and nothing is lost", async () => {
    const next = scriptedLLM([{ text: "fresh" }]);
    const bench = setUpCompaction([{ text: "answer", usage: big }, { text: "short" }], opening(next, 3));
    const seen = await collect(bench.engine.run(ask("first")));
    for (const text of ["second", "third"]) {
      seen.push(...(await collect(bench.engine.run(ask(text)))));
      expect(outline(seen).slice(-2)).toEqual([
        "request_end failed",
        "abort the model adapter failed: the credentials are locked",
      ]);
    }
    expect(bench.llm.requests).toHaveLength(2);
    seen.push(...(await collect(bench.engine.run([]))));
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([
      { text: "[context_summary]short[/context_summary]" },
      { text: "second" },
      { text: "third" },
    ]);
    expectSound(bench, seen);
  });
});
