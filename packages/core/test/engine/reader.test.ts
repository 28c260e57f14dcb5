import {
  isPayload,
  type LLMOutcome,
  type OmniMessage,
  partialText,
  SessionBusyError,
  UsageError,
  userText,
} from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { notPlayed } from "../../../testing/test/every-trace.ts";
import { allow, ask, collect, expectSound, outline, setUp } from "./support.ts";

const eventLoopTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function takeUntilRequest(run: AsyncGenerator<OmniMessage, void>): Promise<void> {
  for (;;) {
    const result = await run.next();
    if (result.done === true || isPayload(result.value, "request_begin")) return;
  }
}

/** Counts what is read of it. */
function endlessModel(text: string) {
  const counter = { read: 0 };
  const step = async function* (): AsyncGenerator<OmniMessage, LLMOutcome> {
    yield partialText("start");
    for (;;) {
      counter.read += 1;
      yield partialText("delta", text);
    }
  };
  return { counter, step };
}

describe("a reader who does not read", () => {
  it.each([
    ["1,024 messages", "x", 1_024],
    ["4 MiB", "x".repeat(1024 * 1024), 5],
  ])("lets the model run ahead by at most %s", async (_, text, most) => {
    const { counter, step } = endlessModel(text);
    const bench = setUp([step]);
    const run = bench.engine.run(ask("go"));
    await takeUntilRequest(run);
    for (let turn = 0; turn < 3_000; turn += 1) await eventLoopTurn();
    const readAhead = counter.read;
    expect(readAhead).toBeLessThanOrEqual(most);
    expect(readAhead).toBeGreaterThan(2);
    for (let taken = 0; taken < 10; taken += 1) await run.next();
    await eventLoopTurn();
    expect(counter.read).toBeGreaterThan(readAhead);
    await run.return(undefined);
    expect(outline(bench.trace.records).at(-1)).toBe("abort");
  });

  it("does not hold up a tool, and a next input waits for him", async () => {
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "ok" }], { a: () => "A" });
    const run = bench.engine.run(ask("go"), { approve: allow });
    await takeUntilRequest(run);
    for (let turn = 0; turn < 20; turn += 1) await eventLoopTurn();
    expect(outline(bench.trace.records)).toContain("output call_0: A");
    expect(bench.llm.requests).toHaveLength(1);
    await collect(run);
    expect(bench.llm.requests).toHaveLength(2);
  });

  it.each<[silent: string, until: OmniMessage["payload"]["type"]]>([
    ["the model", "request_begin"],
    ["the approver", "tool_call"],
    ["a tool", "approval_decision"],
  ])("keeps no engine from being closed, nor does %s who never answers", async (silent, until) => {
    const never = new Promise<never>(() => undefined);
    const silentModel = async function* (): AsyncGenerator<OmniMessage, LLMOutcome> {
      yield await never;
      return { status: "completed" };
    };
    const calls = { calls: [{ name: "a" }] };
    const bench = setUp([silent === "the model" ? silentModel : calls], { a: () => never });
    const run = bench.engine.run(ask("go"), { approve: silent === "the approver" ? () => never : allow });
    for (;;) {
      const { value } = await run.next();
      if (value === undefined || value.payload.type === until) break;
    }
    await bench.engine.close();
    expect(bench.engine.activity).toBe("idle");
    expect(outline(bench.trace.records).at(-1)).toBe("abort");
    expect(bench.clock.sleeping).toEqual([]);
  });
});

describe("a producer that always has more at once", () => {
  async function* endlessTool(): AsyncGenerator<string> {
    for (;;) yield "x";
  }

  it.each([
    ["a model", [endlessModel("x").step], {}],
    ["a tool", [{ calls: [{ name: "talks" }] }], { talks: endlessTool }],
  ])("does not keep an interrupt waiting, if it is %s", async (_, steps, tools) => {
    const bench = setUp(steps, tools);
    const controller = new AbortController();
    setImmediate(() => setImmediate(() => setImmediate(() => controller.abort())));
    let last: OmniMessage | undefined;
    for await (const message of bench.engine.run(ask("go"), { approve: allow, signal: controller.signal })) {
      last = message;
    }
    expect(last?.payload.type).toBe("abort");
  });
});

describe("thousands of calls in one answer", () => {
  it("are each asked about, run and answered once", async () => {
    const count = 5_000;
    const calls = Array.from({ length: count }, () => ({ name: "a" }));
    const bench = setUp([{ calls }, { text: "ok" }], { a: () => "A" });
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(bench.environment.executed).toHaveLength(count);
    expect(bench.llm.requests[1]?.newMessages).toHaveLength(count);
    expect(outline(stream).at(-1)).toBe("request_end completed");
  });
});

describe("one Session", () => {
  it("has one run at a time, and says so before anything happens", async () => {
    const bench = setUp([{ text: "ok" }, { text: "ok" }]);
    const early = bench.engine.run(ask("never started"));
    const run = bench.engine.run(ask("go"));
    await run.next();
    expect(() => bench.engine.run(ask("again"))).toThrow(SessionBusyError);
    expect(() => bench.engine.compact()).toThrow(SessionBusyError);
    await expect(early.next()).rejects.toThrow(SessionBusyError);
    await collect(run);
    expect(outline(bench.trace.records).filter((line) => line.startsWith("user:"))).toEqual(["user: go"]);
    expect(await early.next()).toEqual({ done: true, value: undefined });
  });

  it("is not occupied by a generator that was never started, nor by one that was given up", async () => {
    const bench = setUp([{ text: "ok" }]);
    bench.engine.run(ask("never started"));
    await bench.engine.run(ask("given up")).return(undefined);
    expect(bench.engine.activity).toBe("idle");
    expect(outline(await collect(bench.engine.run(ask("go")))).at(-1)).toBe("request_end completed");
  });

  it("refuses an empty input with nothing owed, and messages that no user sends", async () => {
    const bench = setUp([{ text: "ok" }]);
    await expect(bench.engine.run([]).next()).rejects.toThrow(UsageError);
    const [output] = await collect(setUp([{ text: "x" }]).engine.run(ask("y")));
    await expect(bench.engine.run(output === undefined ? [] : [output]).next()).rejects.toThrow(/tool_list_ready/);
    expect(bench.engine.activity).toBe("idle");
    expect(bench.trace.records).toHaveLength(1);
  });

  it("goes on from an interrupt with an empty input", async () => {
    const bench = setUp([{ text: "ok" }]);
    await collect(bench.engine.run([userText("hello")], { signal: AbortSignal.abort() }));
    const stream = await collect(bench.engine.run([]));
    expect(outline(stream)).toContain("assistant: ok");
  });

  it("hands pending reads out in order, and ends them all", async () => {
    const bench = setUp([{ text: "ok" }]);
    const run = bench.engine.run(ask("go"));
    const results = await Promise.all(Array.from({ length: 12 }, () => run.next()));
    const messages = results.flatMap((result) => (result.done === true ? [] : [result.value]));
    expect(outline(messages)).toEqual([
      "tool_list_ready",
      "request_begin",
      "assistant: ok",
      "token_usage",
      "request_end completed",
    ]);
    expectSound(bench, messages);
  });
});

describe("a Trace that refuses a record", () => {
  it("is told once for each outage, and the Task goes on", async () => {
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "ok" }], { a: () => "A" });
    let refused = 0;
    bench.trace.onWrite = () => {
      refused += 1;
      return refused > 2 && refused < 9 ? Promise.reject(new Error("no space left")) : undefined;
    };
    notPlayed(bench.trace, "its sink loses what it refuses");
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    const notices = stream.filter((message) => isPayload(message, "notice"));
    expect(notices.map((message) => message.payload)).toMatchObject([
      { level: "error", code: "trace_write_failed", message: expect.stringContaining("no space left") },
    ]);
    expect(outline(stream)).toContain("assistant: ok");
  });

  it("that must be kept before its effect starts no tool until it is", async () => {
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "ok" }], { a: () => "A" });
    let isBroken = true;
    const blocks = Object.assign(new Error("no space left"), { blocksEffects: true });
    bench.trace.onWrite = (record) =>
      isBroken && isPayload(record, "approval_decision") ? Promise.reject(blocks) : undefined;
    const run = collect(bench.engine.run(ask("go"), { approve: allow }));
    for (let time = 0; time < 3; time += 1) {
      expect(await bench.clock.nextSleep()).toBe(1_000);
      expect(bench.environment.executed).toEqual([]);
      if (time === 2) isBroken = false;
      bench.clock.advance(1_000);
      await eventLoopTurn();
    }
    const stream = await run;
    expect(bench.environment.executed).toHaveLength(1);
    expect(stream.filter((message) => isPayload(message, "notice"))).toHaveLength(1);
    expect(outline(bench.trace.records).filter((line) => line === "allow call_0")).toHaveLength(1);
  });
});
