import {
  type GenerateParameters,
  isPayload,
  type LLMOutcome,
  type OmniMessage,
  partialText,
  partialToolCallOutput,
} from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { notPlayed } from "../../../testing/test/every-trace.ts";
import { allow, ask, collect, expectSound, outline, sent, setUp } from "./support.ts";

/** A promise that nobody settles. */
const never = new Promise<never>(() => undefined);

async function* deafModel(): AsyncGenerator<OmniMessage, LLMOutcome> {
  yield partialText("start");
  yield partialText("delta", "I was say");
  await never;
  return { status: "completed" };
}

describe("an interrupt", () => {
  it("before the first request keeps the input as it is", async () => {
    const bench = setUp([{ text: "ok" }]);
    const stream = await collect(bench.engine.run(ask("hello"), { signal: AbortSignal.abort() }));
    expect(outline(stream)).toEqual(["abort"]);
    expect(bench.llm.requests).toEqual([]);
    expectSound(bench, stream);
    await collect(bench.engine.run(ask("and this")));
    expect(sent(bench.llm.requests[0]?.newMessages ?? [])).toMatchObject([{ text: "hello" }, { text: "and this" }]);
  });

  it("of a model that never answers closes what it said and quotes it in the next input", async () => {
    const bench = setUp([deafModel, { text: "ok" }]);
    const controller = new AbortController();
    const stream: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("hello"), { signal: controller.signal })) {
      stream.push(message);
      if (isPayload(message, "partial_text") && message.payload.event_type === "delta") controller.abort();
    }
    expect(outline(stream).slice(-3)).toEqual(["assistant: I was say (aborted)", "request_end aborted", "abort"]);
    expectSound(bench, stream);
    await collect(bench.engine.run(ask("go on")));
    const [block, next] = bench.llm.requests[1]?.newMessages ?? [];
    expect(block?.payload).toMatchObject({ type: "text", sender: "harness" });
    expect(JSON.stringify(block?.payload)).toMatch(/\[turn_aborted\].*hello.*I was say.*\[\/turn_aborted\]/);
    expect(next?.payload).toMatchObject({ text: "go on" });
  });

  it("while a tool runs keeps finished outputs and answers for the others in call order", async () => {
    const bench = setUp([{ calls: [{ name: "deaf" }, { name: "quick" }] }, { text: "ok" }], {
      deaf: () => never,
      quick: () => "Q",
    });
    const controller = new AbortController();
    const stream: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("go"), { approve: allow, signal: controller.signal })) {
      stream.push(message);
      if (isPayload(message, "tool_call_output")) controller.abort();
    }
    expect(outline(stream).at(-1)).toBe("abort");
    expectSound(bench, stream);
    await collect(bench.engine.run(ask("continue")));
    expect(sent(bench.llm.requests[1]?.newMessages ?? [])).toMatchObject([
      { tool_call_id: "call_0", output: "[interrupted: tool aborted by user]", stop_reason: "aborted" },
      { tool_call_id: "call_1", output: "Q" },
      { text: "continue" },
    ]);
  });

  it("closes a tool's streamed output, which is written and sent with what it had said", async () => {
    const bench = setUp([{ calls: [{ name: "talks" }] }, { text: "ok" }], {
      talks: async function* () {
        yield "line one\n";
        await never;
      },
    });
    const controller = new AbortController();
    const stream: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("go"), { approve: allow, signal: controller.signal })) {
      stream.push(message);
      if (isPayload(message, "partial_tool_call_output") && message.payload.event_type === "delta") controller.abort();
    }
    const output = "output call_0: line one\n[interrupted: tool aborted by user] (aborted)";
    expect(outline(stream)).toContain(output);
    expect(outline(stream).at(-1)).toBe("abort");
    expect(outline(bench.trace.records)).toContain(output);
    expectSound(bench, stream);
  });

  it("forgets an approval that is pending and ignores its late answer", async () => {
    let answer: ((decision: "allow") => void) | undefined;
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "ok" }], { a: () => "A" });
    const controller = new AbortController();
    const stream: OmniMessage[] = [];
    const approve = (): Promise<"allow"> =>
      new Promise((resolve) => {
        answer = resolve;
      });
    for await (const message of bench.engine.run(ask("go"), { approve, signal: controller.signal })) {
      stream.push(message);
      if (isPayload(message, "request_end")) controller.abort();
    }
    answer?.("allow");
    await collect(bench.engine.run(ask("next")));
    expect(bench.environment.executed).toEqual([]);
    expect(outline(bench.trace.records)).not.toContain("allow call_0");
    expect(sent(bench.llm.requests[1]?.newMessages ?? [])).toMatchObject([
      { tool_call_id: "call_0", stop_reason: "aborted" },
      { text: "next" },
    ]);
  });

  it("is what a reader does who stops early, also while he waits", async () => {
    let signal: AbortSignal | undefined;
    const bench = setUp([
      async function* (parameters: GenerateParameters) {
        signal = parameters.signal;
        yield* deafModel();
        return { status: "completed" };
      },
    ]);
    const run = bench.engine.run(ask("hello"));
    for (let seen = 0; seen < 4; seen += 1) await run.next();
    const pending = run.next();
    expect(await run.return(undefined)).toEqual({ done: true, value: undefined });
    expect(await pending).toEqual({ done: true, value: undefined });
    expect(signal?.aborted).toBe(true);
    expect(outline(bench.trace.records).slice(-2)).toEqual(["request_end aborted", "abort"]);
    expect(bench.engine.activity).toBe("idle");
  });

  it("counts what the model had committed before it", async () => {
    const bench = setUp([{ calls: [{ name: "a" }], hold: Promise.resolve() }, { text: "ok" }], { a: () => never });
    const controller = new AbortController();
    const stream: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("go"), { approve: allow, signal: controller.signal })) {
      stream.push(message);
      if (isPayload(message, "token_usage")) controller.abort();
    }
    expect(outline(stream).slice(-2)).toEqual(["request_end completed", "abort"]);
    expectSound(bench, stream);
  });

  it.each(["signal", "break"])("lets a tool tidy up whose fragment is being shown: by %s", async (how) => {
    const bench = setUp([{ calls: [{ name: "a" }] }], { a: () => "never" });
    const tidied: string[] = [];
    bench.environment.executeTool = async function* ({ toolCall }) {
      const toolCallId = toolCall.payload.tool_call_id;
      try {
        yield partialToolCallOutput({ eventType: "start", toolCallId });
        for (;;) yield partialToolCallOutput({ eventType: "delta", toolCallId, output: "more" });
      } finally {
        tidied.push("tidied");
      }
    };
    const controller = new AbortController();
    for await (const { payload } of bench.engine.run(ask("go"), { approve: allow, signal: controller.signal })) {
      if (payload.type !== "partial_tool_call_output" || payload.event_type !== "delta") continue;
      if (how === "break") break;
      controller.abort();
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(tidied).toEqual(["tidied"]);
  });

  it("gives steering that was not delivered back", async () => {
    const bench = setUp([deafModel]);
    const controller = new AbortController();
    const stream: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("hello"), { signal: controller.signal })) {
      stream.push(message);
      if (isPayload(message, "partial_text") && message.payload.event_type === "delta") {
        expect(bench.engine.steer("one more thing")).toBe(true);
        controller.abort();
        expect(bench.engine.steer("too late")).toBe(false);
      }
    }
    expect(outline(stream).at(-1)).toBe("abort undelivered one more thing");
  });

  it.each(Array.from({ length: 20 }, (_, later) => later))(
    "lets no request leave that it came before: %i steps after the beginning of one is kept",
    async (later) => {
      const bench = setUp([{ text: "ok" }]);
      const controller = new AbortController();
      const interruptLater = async (): Promise<void> => {
        for (let step = 0; step < later; step += 1) await Promise.resolve();
        controller.abort();
      };
      bench.trace.onWrite = (record) => {
        if (isPayload(record, "request_begin")) void interruptLater();
        return undefined;
      };
      let hasLeftLate = false;
      const generate = bench.llm.streamGenerate.bind(bench.llm);
      bench.llm.streamGenerate = (parameters) => {
        hasLeftLate ||= controller.signal.aborted;
        return generate(parameters);
      };
      const stream = await collect(bench.engine.run(ask("hello"), { signal: controller.signal }));
      expect([outline(stream).at(-1), hasLeftLate]).toEqual(["abort", false]);
      expectSound(bench, stream);
    },
  );

  it("waits for a Trace that hangs no longer than its limit", async () => {
    const bench = setUp([{ text: "ok" }]);
    const controller = new AbortController();
    bench.trace.onWrite = (record) => (isPayload(record, "request_begin") ? never : undefined);
    notPlayed(bench.trace, "its sink loses the record at which it hangs, and no others");
    const run = collect(bench.engine.run(ask("hello"), { signal: controller.signal }));
    while (!outline(bench.trace.records).includes("tool_list_ready"))
      await new Promise((resolve) => setImmediate(resolve));
    controller.abort();
    expect(await bench.clock.nextSleep()).toBe(20);
    bench.clock.advance(20);
    expect(outline(await run).at(-1)).toBe("abort");
  });
});
