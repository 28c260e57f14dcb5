import {
  assistantText,
  isPayload,
  missingRecords,
  type OmniMessage,
  partialToolCallOutput,
  requestEnd,
  toolCall,
  toolCallOutput,
} from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { allow, ask, collect, describeMessage, expectSound, outline, sent, setUp } from "./support.ts";

describe("a Task", () => {
  it("writes its input, asks the model once, and ends with the answer", async () => {
    const bench = setUp([{ text: ["All ", "done."] }]);
    const stream = await collect(bench.engine.run(ask("hello")));
    expect(stream.map(describeMessage)).toEqual([
      "tool_list_ready",
      "request_begin",
      "partial_text",
      "partial_text",
      "partial_text",
      "partial_text",
      "assistant: All done.",
      "token_usage",
      "request_end completed",
    ]);
    expect(outline(bench.trace.records)).toEqual([
      "session_meta",
      "user: hello",
      "tool_list_ready",
      "request_begin",
      "assistant: All done.",
      "token_usage",
      "request_end completed",
    ]);
    expectSound(bench, stream);
  });

  it("runs allowed calls together and sends their outputs in call order", async () => {
    let finishFirst: (() => void) | undefined;
    const first = new Promise<void>((resolve) => {
      finishFirst = resolve;
    });
    const bench = setUp([{ calls: [{ name: "slow" }, { name: "quick" }] }, { text: "ok" }], {
      slow: async () => {
        await first;
        return "slow output";
      },
      quick: () => {
        finishFirst?.();
        return "quick output";
      },
    });
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    const order = outline(stream);
    const place = (line: string): number => order.indexOf(line);
    expect(place("allow call_0")).toBeGreaterThan(place("call call_0 slow"));
    expect(place("allow call_1")).toBeGreaterThan(place("allow call_0"));
    expect(place("output call_1: quick output")).toBeGreaterThan(place("allow call_1"));
    expect(place("output call_0: slow output")).toBeGreaterThan(place("output call_1: quick output"));
    expect(order.lastIndexOf("request_begin")).toBeGreaterThan(place("output call_0: slow output"));
    expect(sent(bench.llm.requests[1]?.newMessages ?? [])).toMatchObject([
      { tool_call_id: "call_0", output: "slow output" },
      { tool_call_id: "call_1", output: "quick output" },
    ]);
    expectSound(bench, stream);
  });

  it("asks for one approval at a time, in call order, while it reads on", async () => {
    const asked: string[] = [];
    const answers: ((answer: "allow" | "deny") => void)[] = [];
    const bench = setUp([{ calls: [{ name: "a" }, { name: "b" }, { name: "c" }] }, { text: "ok" }], {
      a: () => "A",
      b: () => "B",
      c: () => "C",
    });
    const stream: OmniMessage[] = [];
    const run = bench.engine.run(ask("go"), {
      approve: (call) => {
        asked.push(call.payload.name);
        return new Promise((resolve) => answers.push(resolve));
      },
    });
    for await (const message of run) {
      stream.push(message);
      if (isPayload(message, "request_end") && answers.length === 1) {
        expect(asked).toEqual(["a"]);
        answers[0]?.("allow");
      }
      if (isPayload(message, "approval_decision") && answers.length < 3) {
        await Promise.resolve();
        answers[asked.length - 1]?.(asked.at(-1) === "b" ? "deny" : "allow");
      }
      if (isPayload(message, "tool_call_output")) answers[asked.length - 1]?.(asked.at(-1) === "b" ? "deny" : "allow");
    }
    expect(asked).toEqual(["a", "b", "c"]);
    expect(sent(bench.llm.requests[1]?.newMessages ?? [])).toMatchObject([
      { output: "A" },
      { output: "Tool call denied by user.", stop_reason: "aborted" },
      { output: "C" },
    ]);
    expect(bench.environment.executed.map((call) => call.payload.name)).toEqual(["a", "c"]);
    expectSound(bench, stream);
  });

  it.each([
    ["there is no approve", undefined],
    ["approve rejects", () => Promise.reject(new Error("closed"))],
    [
      "approve throws",
      () => {
        throw new Error("closed");
      },
    ],
  ])("denies when %s", async (_, approve) => {
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "ok" }], { a: () => "A" });
    const stream = await collect(bench.engine.run(ask("go"), { approve }));
    expect(outline(stream)).toContain("deny call_0");
    expect(bench.environment.executed).toEqual([]);
    expectSound(bench, stream);
  });

  it("does not ask about a call that the policy forbids", async () => {
    let asked = 0;
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "ok" }], { a: () => "A" }, { forbids: () => "no-a" });
    const stream = await collect(
      bench.engine.run(ask("go"), {
        approve: () => {
          asked += 1;
          return Promise.resolve("allow");
        },
      }),
    );
    expect(asked).toBe(0);
    expect(outline(stream)).toEqual(
      expect.arrayContaining(["forbidden call_0", "output call_0: Tool call denied by policy. (aborted)"]),
    );
    expectSound(bench, stream);
  });

  it("neither asks, runs nor sends a call that was cut", async () => {
    const bench = setUp([
      async function* () {
        yield toolCall({ name: "a", arguments: '{"x', toolCallId: "cut", stopReason: "malformed" });
        yield assistantText("half");
        return { status: "completed" };
      },
      { text: "ok" },
    ]);
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(outline(stream).filter((line) => line.includes("cut"))).toEqual(["call cut a (malformed)"]);
    expectSound(bench, stream);
    await collect(bench.engine.run(ask("again")));
    expect(sent(bench.llm.requests[1]?.newMessages ?? [])).toMatchObject([{ text: "again" }]);
  });

  it.each<[string, () => AsyncGenerator<OmniMessage>, string]>([
    [
      "throws",
      () => {
        throw new Error("broken");
      },
      "output call_0: [the tool failed: broken] (failed)",
    ],
    ["says nothing", async function* () {}, "output call_0: [the tool ended without an output] (failed)"],
    [
      "stops in the middle of its stream",
      async function* () {
        yield partialToolCallOutput({ eventType: "start", toolCallId: "call_0" });
        yield partialToolCallOutput({ eventType: "delta", toolCallId: "call_0", output: "half" });
        throw new Error("broken");
      },
      "output call_0: half\n[the tool failed: broken] (failed)",
    ],
    [
      "answers twice, for another call, and with words of the engine",
      async function* () {
        yield requestEnd("completed");
        yield toolCallOutput({ toolCallId: "other", output: "one" });
        yield toolCallOutput({ toolCallId: "call_0", output: "two" });
      },
      "output call_0: one",
    ],
  ])("gives the call of an environment that %s exactly one output", async (_, executeTool, output) => {
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "ok" }]);
    bench.environment.executeTool = executeTool;
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(outline(stream).filter((line) => line.startsWith("output"))).toEqual([output]);
    expectSound(bench, stream);
  });

  it("stops after maxTurns and owes what the tools said", async () => {
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "later" }], { a: () => "A" }, { maxTurns: 1 });
    const stream = await collect(bench.engine.run(ask("go"), { approve: allow }));
    expect(outline(stream).at(-1)).toBe("assistant: [reached max turns (1); stopping] (failed)");
    expect(missingRecords(bench.trace.records, () => 0)).toEqual([]);
    expectSound(bench, stream);
    await collect(bench.engine.run(ask("go on")));
    expect(sent(bench.llm.requests[1]?.newMessages ?? [])).toMatchObject([{ output: "A" }, { text: "go on" }]);
  });
});
