import { isPartial, isPayload, type OmniMessage } from "@coxswain/core";
import { scriptedLLM, type ScriptedStep } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { allow, ask, collect, outline, sent, setUp } from "./support.ts";

const diskFull = new Error("no space left");

describe("a Trace that refuses a run's last record", () => {
  it.each([
    ["one by one", false],
    ["together", true],
  ])("is told of in front of abort, after which nothing comes (records written %s)", async (_, takesBatches) => {
    const bench = setUp([{ end: "auth", outcome: { errorMessage: "the key was refused" } }]);
    bench.trace.onWrite = (record) => (isPayload(record, "abort") ? Promise.reject(diskFull) : undefined);
    if (takesBatches) {
      Object.assign(bench.trace, {
        writeAll: (records: OmniMessage[]) => Promise.all(records.map((record) => bench.trace.write(record))),
      });
    }
    const stream = await collect(bench.engine.run(ask("go")));
    expect(outline(stream).slice(-2)).toEqual(["notice", "abort the key was refused"]);
  });
});

describe("a record that must be kept before its effect", () => {
  it("is waited for no longer once the run is interrupted, and leaves no timer", async () => {
    const bench = setUp([{ calls: [{ name: "a" }] }], { a: () => "A" });
    const blocks = Object.assign(new Error("no space left"), { blocksEffects: true });
    bench.trace.onWrite = (record) => (isPayload(record, "approval_decision") ? Promise.reject(blocks) : undefined);
    const controller = new AbortController();
    const run = collect(bench.engine.run(ask("go"), { approve: allow, signal: controller.signal }));
    await bench.clock.nextSleep();
    controller.abort();
    bench.clock.advance(20);
    expect(outline(await run).at(-1)).toBe("abort");
    expect(bench.clock.sleeping).toEqual([]);
    expect(bench.environment.executed).toEqual([]);
  });
});

describe("a Trace that takes several records at once", () => {
  const twoCalls: ScriptedStep[] = [{ calls: [{ name: "a" }, { name: "a" }] }, { text: "done" }];

  it("tells of an outage while a decision among the records waits for its end", async () => {
    const bench = setUp(twoCalls, { a: () => "A" });
    const blocks = Object.assign(new Error("no space left"), { blocksEffects: true });
    let isFull = true;
    bench.trace.onWrite = (record) =>
      isFull && isPayload(record, "approval_decision") ? Promise.reject(blocks) : undefined;
    Object.assign(bench.trace, {
      writeAll: async (records: OmniMessage[]) => {
        for (const record of records) await bench.trace.write(record);
      },
    });
    const shown: OmniMessage[] = [];
    const run = (async () => {
      for await (const message of bench.engine.run(ask("go"), { approve: allow })) shown.push(message);
    })();
    await bench.clock.nextSleep();
    expect(outline(shown).at(-1)).toBe("notice");
    expect(bench.environment.executed).toEqual([]);
    isFull = false;
    bench.clock.advance(60_000);
    await run;
    expect(bench.environment.executed).toHaveLength(2);
    expect(outline(shown).filter((line) => line === "notice")).toHaveLength(1);
  });

  it("may have kept them when it returns, and may throw instead of refusing", async () => {
    const bench = setUp(twoCalls, { a: () => "A" });
    let isQuick = true;
    Object.assign(bench.trace, {
      writeAll: (records: OmniMessage[]) => {
        bench.trace.newest.push(...records);
        if (!isQuick || !records.some((record) => isPayload(record, "tool_call"))) return;
        isQuick = false;
        throw diskFull;
      },
    });
    const shown: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("go"), { approve: allow })) {
      if (isPartial(message)) continue;
      shown.push(message);
      if (isQuick) expect(bench.trace.newest).toContain(message);
    }
    expect(outline(shown)).toContain("notice");
    expect(outline(shown).slice(-4)).toEqual([
      "request_begin",
      "assistant: done",
      "token_usage",
      "request_end completed",
    ]);
    expect(outline(bench.trace.newest).slice(-4)).toEqual(outline(shown).slice(-4));
    expect(bench.environment.executed).toHaveLength(2);
  });
});

describe("the context that follows a compaction", () => {
  const overflow: ScriptedStep = { end: "failed", outcome: { contextOverflow: true, errorMessage: "too long" } };

  it("is opened by one write with all that is owed, in records that no sink has seen before", async () => {
    const next = scriptedLLM([{ text: "done" }]);
    const bench = setUp(
      [{ text: "answer" }, overflow, { text: "short" }],
      {},
      {
        compaction: { maxContextLength: 100, maxSessionTurns: -1, mode: "summarize", prompt: "Summarize." },
        createLLM: () => next,
      },
    );
    const writes: OmniMessage[][] = [];
    bench.trace.onWrite = (record) => void writes.push([record]);
    Object.assign(bench.trace, {
      writeAll: (records: OmniMessage[]) => {
        writes.push([...records]);
        bench.trace.newest.push(...records);
        return Promise.resolve();
      },
    });
    await collect(bench.engine.run(ask("first")));
    await collect(bench.engine.run([...ask("one"), ...ask("two")]));
    const opening = writes.find((records) => JSON.stringify(records).includes("[context_summary]"));
    expect(sent(opening ?? [])).toMatchObject([{ sender: "harness" }, { text: "one" }, { text: "two" }]);
    const written = writes.flat();
    expect(new Set(written).size).toBe(written.length);
  });
});

describe("a Trace that does not come back from opening its next file", () => {
  it("is waited for no longer once the run is interrupted, or the engine closed", async () => {
    for (const stop of ["signal", "close"] as const) {
      const bench = setUp(
        [{ text: "answer" }, { text: "[summary]short[/summary]" }],
        {},
        {
          compaction: { maxContextLength: -1, maxSessionTurns: -1, mode: "summarize", prompt: "Summarize." },
          createLLM: () => scriptedLLM([{ text: "never asked" }]),
        },
      );
      const rotates = new Promise<void>((begun) => {
        bench.trace.rotate = () => {
          bench.trace.contexts.push([]);
          begun();
          return new Promise(() => undefined);
        };
      });
      await collect(bench.engine.run(ask("first")));
      await collect(bench.engine.compact());
      const controller = new AbortController();
      const run = collect(bench.engine.run(ask("second"), { signal: controller.signal }));
      await rotates;
      const closed = stop === "close" ? bench.engine.close() : undefined;
      controller.abort();
      bench.clock.advance(20);
      await Promise.all([run, closed]);
      expect(bench.clock.sleeping).toEqual([]);
      if (stop === "signal") expect(outline(await run).at(-1)).toBe("abort");
      expect(sent(bench.trace.newest)).toContainEqual(expect.objectContaining({ text: "second" }));
    }
  });
});
