import { type CompactionSettings, isPayload, type OmniMessage, replayTrace } from "@coxswain/core";
import { scriptedLLM, type ScriptedStep } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { allow, ask, collect, expectSound, outline, sent, setUp } from "./support.ts";

const settings: CompactionSettings = {
  maxContextLength: 100,
  maxSessionTurns: -1,
  mode: "summarize",
  prompt: "Summarize.",
};
const big = { input: 100, total: 105 };

function setUpCompaction(
  steps: readonly ScriptedStep[],
  after: readonly ScriptedStep[],
  overrides: Partial<CompactionSettings> = {},
) {
  const next = scriptedLLM(after);
  const bench = setUp(steps, { a: () => "A" }, { compaction: { ...settings, ...overrides }, createLLM: () => next });
  return { bench, next };
}

describe("a compaction", () => {
  it("in the middle of a Task takes the outputs in, and goes on in a fresh context", async () => {
    const { bench, next } = setUpCompaction(
      [{ calls: [{ name: "a" }], usage: big }, { text: "[summary]all so far[/summary]" }],
      [{ text: "done" }],
    );
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(sent(bench.llm.requests[1]?.newMessages ?? [])).toMatchObject([
      { output: "A" },
      { text: "Summarize.", sender: "harness" },
    ]);
    expect(bench.llm.requests[1]?.purpose).toBe("summary");
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([
      { text: "[context_summary]all so far[/context_summary]", sender: "harness" },
    ]);
    expect(bench.trace.contexts.map((context) => outline(context)[0])).toEqual(["session_meta", "session_meta"]);
    expect(outline(stream).at(-1)).toBe("request_end completed");
    expectSound(bench, stream);
  });

  it("works in an engine that was not told what Session it is of, and keeps no Trace", async () => {
    const next = scriptedLLM([{ text: "again" }]);
    const bench = setUp(
      [{ text: "answer", usage: big }, { text: "short" }],
      {},
      {
        compaction: settings,
        createLLM: () => next,
        sessionMeta: undefined,
        trace: undefined,
      },
    );
    await collect(bench.engine.run(ask("go")));
    await collect(bench.engine.run(ask("more")));
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([{ sender: "harness" }, { text: "more" }]);
  });

  it("at a Task's end waits for the next input, in this process or in another", async () => {
    const { bench, next } = setUpCompaction([{ text: "answer", usage: big }, { text: "short" }], [{ text: "again" }]);
    const stream = await collect(bench.engine.run(ask("go")));
    expect(outline(stream).at(-1)).toBe("compaction_end completed");
    expect(bench.trace.contexts).toHaveLength(1);
    const resumed = replayTrace(bench.trace.newest);
    expect(resumed).toMatchObject({
      history: [],
      carryOver: [],
      fromCompaction: true,
      sessionTurns: 0,
      lastRequestTotal: 0,
    });
    expect(resumed.pendingSummary?.payload).toMatchObject({ text: "[context_summary]short[/context_summary]" });
    expectSound(bench, stream);
    await collect(bench.engine.run(ask("more")));
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([{ sender: "harness" }, { text: "more" }]);
  });

  it.each([
    ["is blank", { text: "  " }],
    ["calls a tool", { calls: [{ name: "a" }] }],
  ])("whose summary %s fails after its retries, and everything is as before", async (_, reply) => {
    const { bench } = setUpCompaction(
      [
        { calls: [{ name: "a" }], usage: big },
        reply,
        reply,
        reply,
        reply,
        { text: "done", usage: big },
        ...Array.from({ length: 4 }, () => reply),
      ],
      [],
    );
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(outline(stream)).toContain("compaction_end failed");
    expect(bench.environment.executed).toHaveLength(1);
    expect(sent(bench.llm.requests[5]?.newMessages ?? [])).toMatchObject([{ output: "A" }]);
    expectSound(bench, stream);
  });

  it("delivers steering that comes while it works", async () => {
    const { bench, next } = setUpCompaction([{ text: "answer", usage: big }, { text: "short" }], [{ text: "again" }]);
    const stream: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("go"))) {
      stream.push(message);
      if (isPayload(message, "compaction_begin")) {
        expect(bench.engine.activity).toBe("compacting");
        expect(bench.engine.steer("wait")).toBe(true);
      }
    }
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([
      { sender: "harness" },
      { text: "[user_steering]wait[/user_steering]" },
    ]);
    expectSound(bench, stream);
  });

  it("by discarding drops the context at the Task's end", async () => {
    const { bench, next } = setUpCompaction(
      [
        { calls: [{ name: "a" }], usage: big },
        { text: "done", usage: big },
      ],
      [{ text: "fresh" }],
      { mode: "discard" },
    );
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(outline(stream).filter((line) => line.startsWith("compaction"))).toEqual([
      "compaction_begin",
      "compaction_end completed",
    ]);
    expectSound(bench, stream);
    await collect(bench.engine.run(ask("new")));
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([{ text: "new" }]);
  });

  it.each(["summarize", "discard"] as const)(
    "by hand (%s) ends what was owed, an input that was never sent included",
    async (mode) => {
      const { bench, next } = setUpCompaction([{ text: "answer" }, { text: "short" }], [{ text: "fresh" }], { mode });
      await collect(bench.engine.run(ask("first")));
      await collect(bench.engine.run(ask("never sent"), { signal: AbortSignal.abort() }));
      const stream = await collect(bench.engine.compact());
      expect(outline(stream).at(-1)).toBe("compaction_end completed");
      if (mode === "summarize") expect(JSON.stringify(bench.llm.requests[1]?.newMessages)).toContain("never sent");
      expect(bench.engine.state.carryOver).toEqual([]);
      await collect(bench.engine.run(ask("third")));
      expect(sent(next.requests[0]?.newMessages ?? []).at(-1)).toMatchObject({ text: "third" });
      expect(JSON.stringify(next.requests[0]?.newMessages)).not.toContain("never sent");
    },
  );

  it("by hand is refused with nothing to compact, and right after another", async () => {
    const { bench } = setUpCompaction([{ text: "answer" }, { text: "short" }], []);
    expect(bench.engine.compactability()).toBe("empty");
    expect(await collect(bench.engine.compact())).toEqual([]);
    await collect(bench.engine.run(ask("go")));
    expect(bench.engine.compactability()).toBe("ok");
    expect(outline(await collect(bench.engine.compact())).at(-1)).toBe("compaction_end completed");
    expect(bench.engine.compactability()).toBe("just_compacted");
    expect(setUp([]).engine.compactability()).toBe("unsupported");
  });

  it("that is interrupted leaves everything as it was", async () => {
    const { bench } = setUpCompaction([{ text: "answer", usage: big }, { text: "short" }], []);
    const controller = new AbortController();
    const stream: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("go"), { signal: controller.signal })) {
      stream.push(message);
      if (isPayload(message, "compaction_begin")) controller.abort();
    }
    expect(outline(stream).slice(-2)).toEqual(["compaction_end aborted", "abort"]);
    expectSound(bench, stream);
    expect(sent(bench.engine.state.history)).toMatchObject([{ text: "go" }, { text: "answer" }]);
  });

  it("that does not help is not repeated on and on, and says so once", async () => {
    const { bench } = setUpCompaction(
      [{ text: "answer", usage: big }, { text: "short" }],
      [
        { calls: [{ name: "a" }], usage: big },
        { calls: [{ name: "a" }], usage: big },
        { text: "done", usage: big },
      ],
    );
    await collect(bench.engine.run(ask("go")));
    const stream = await collect(bench.engine.run(ask("more"), { approve: allow }));
    expect(stream.filter((message) => isPayload(message, "compaction_begin"))).toEqual([]);
    expect(stream.filter((message) => isPayload(message, "notice"))).toHaveLength(1);
    expect(outline(stream).at(-1)).toBe("request_end completed");
  });
});

describe("an input that does not fit", () => {
  const overflow: ScriptedStep = { end: "failed", outcome: { contextOverflow: true, errorMessage: "too long" } };

  it("is sent once more after one compaction, into which the pending outputs go cut", async () => {
    const long = "x".repeat(5_000);
    const next = scriptedLLM([{ text: "done" }]);
    const bench = setUp(
      [{ calls: [{ name: "a" }], usage: { total: 90 } }, overflow, { text: "short" }],
      { a: () => long },
      { compaction: settings, createLLM: () => next },
    );
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(outline(stream)).toEqual(expect.arrayContaining(["request_end failed", "compaction_end completed"]));
    const [output, prompt] = bench.llm.requests[2]?.newMessages ?? [];
    expect(JSON.stringify(output?.payload)).toMatch(/x{250}\\n\[4500 characters left out\]\\nx{250}/);
    expect(prompt?.payload).toMatchObject({ text: "Summarize." });
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([
      { text: "[context_summary]short[/context_summary]" },
    ]);
    expect(outline(stream).at(-1)).toBe("request_end completed");
    expectSound(bench, stream);
  });

  it("stays owed until it is written again, what a person said above all", async () => {
    const { bench, next } = setUpCompaction([{ text: "answer" }, overflow, { text: "short" }], [{ text: "done" }]);
    await collect(bench.engine.run(ask("first")));
    const stream = await collect(bench.engine.run(ask("the refused words")));
    expect(sent(next.requests[0]?.newMessages ?? [])).toMatchObject([
      { sender: "harness" },
      { text: "the refused words" },
    ]);
    expect(outline(bench.trace.newest)).toContain("user: the refused words");
    expect(outline(stream).at(-1)).toBe("request_end completed");
    // As a process would find it that died before it could.
    expect(sent(replayTrace(bench.trace.contexts[0] ?? []).carryOver)).toMatchObject([{ text: "the refused words" }]);
  });

  it("fails the run when it is refused again, or nothing can be compacted", async () => {
    const { bench } = setUpCompaction([{ text: "answer" }, overflow, { text: "short" }], [overflow]);
    await collect(bench.engine.run(ask("first")));
    expect(outline(await collect(bench.engine.run(ask("too much")))).at(-1)).toBe("abort too long");
    const alone = setUp([overflow]);
    expect(outline(await collect(alone.engine.run(ask("too much")))).at(-1)).toBe("abort too long");
    expect(sent(alone.engine.state.carryOver)).toMatchObject([{ text: "too much" }]);
  });

  it("fails the run when the compaction does, with everything as it was", async () => {
    const failed: ScriptedStep = { end: "failed", outcome: { errorMessage: "no" } };
    const { bench } = setUpCompaction([{ text: "answer" }, overflow, failed], []);
    const before = await collect(bench.engine.run(ask("first")));
    const stream = await collect(bench.engine.run(ask("too much")));
    expect(outline(stream).slice(-2)).toEqual(["compaction_end failed", "abort too long"]);
    expect(sent(bench.engine.state.history)).toMatchObject([{ text: "first" }, { text: "answer" }]);
    expect(sent(bench.engine.state.carryOver)).toMatchObject([{ text: "too much" }]);
    expectSound(bench, [...before, ...stream]);
  });
});
