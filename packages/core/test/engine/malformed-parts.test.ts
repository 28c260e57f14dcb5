import {
  assistantText,
  type LLMOutcome,
  notice,
  type OmniMessage,
  partialToolCallOutput,
  safeParseOmniMessage,
  tokenUsage,
  toolCallOutput,
} from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { allow, ask, type Bench, collect, expectSound, outline, setUp } from "./support.ts";

/** What an adapter or an Environment without types may yield. */
function malformed(message: OmniMessage, payload: object): OmniMessage {
  return { ...message, payload } as OmniMessage;
}

/** Asks for each message only long after it is there. */
async function collectSlowly(run: AsyncGenerator<OmniMessage, void>): Promise<OmniMessage[]> {
  const stream: OmniMessage[] = [];
  for (;;) {
    const result = await run.next();
    if (result.done === true) return stream;
    stream.push(result.value);
    for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
  }
}

function expectReadable({ trace }: Bench): void {
  for (const record of trace.records) expect(safeParseOmniMessage(record)).toMatchObject({ ok: true });
}

describe("a model that says what is no message", () => {
  it.each([
    [
      "a text without text",
      malformed(assistantText("x"), { type: "text", role: "assistant" }),
      "payload.text is missing",
    ],
    [
      "a call without its id",
      malformed(assistantText("x"), { type: "tool_call", role: "assistant", name: "a", arguments: "{}" }),
      "payload.tool_call_id is missing",
    ],
    [
      "a notice without words",
      malformed(notice("info", "c", "m"), { type: "notice", level: "info", code: "c" }),
      "payload.message is missing",
    ],
    ["a time that is none", { ...assistantText("x"), timestamp: "noon" }, "timestamp must be"],
  ])("has failed (%s), in words, also before a slow reader", async (_, wrong, words) => {
    let hasLeft = false;
    const step = async function* (): AsyncGenerator<OmniMessage, LLMOutcome> {
      try {
        yield assistantText("first");
        yield wrong;
        yield wrong;
        return { status: "completed" };
      } finally {
        hasLeft = true;
      }
    };
    const bench = setUp([step, { text: "ok" }]);
    const stream = await collectSlowly(bench.engine.run(ask("go")));
    expect(outline(stream).slice(-2)[0]).toBe("request_end failed");
    expect(outline(stream).at(-1)).toContain(`abort the model adapter failed: ${words}`);
    expect(hasLeft).toBe(true);
    expectReadable(bench);
    expectSound(bench, stream);
    const next = await collect(bench.engine.run(ask("again")));
    expect(outline(next).at(-1)).toBe("request_end completed");
  });

  it.each([
    ["without an outcome", undefined, /ended with the status undefined/],
    ["with an unknown one", { status: "great" }, /ended with the status "great"/],
  ])("and ends %s has failed", async (_, outcome, words) => {
    const step = async function* (): AsyncGenerator<OmniMessage, LLMOutcome> {
      yield assistantText("first");
      return outcome as unknown as LLMOutcome;
    };
    const bench = setUp([step]);
    const stream = await collect(bench.engine.run(ask("go")));
    expect(outline(stream).at(-1)).toMatch(words);
    expectReadable(bench);
    expectSound(bench, stream);
  });

  it("and counts in no way that can be read has committed all the same", async () => {
    const counts = { input: Number.NaN, total: "many" };
    const step = async function* (): AsyncGenerator<OmniMessage, LLMOutcome> {
      yield assistantText("done");
      yield malformed(tokenUsage({ session: none, request: none }), { type: "token_usage", request: counts });
      return { status: "completed" };
    };
    const bench = setUp([step]);
    const stream = await collect(bench.engine.run(ask("go")));
    expect(outline(stream).at(-1)).toBe("request_end completed");
    expect(bench.engine.state.history).toHaveLength(2);
    expectReadable(bench);
    expectSound(bench, stream);
  });
});

const none = { input: 0, cache_read: 0, cache_write: 0, output: 0, total: 0 };

describe("a tool whose fragments are none", () => {
  it.each([
    ["no output", { event_type: "delta" }],
    ["an image that is none", { event_type: "delta", output: "", images: [null] }],
    ["a number", { event_type: "delta", output: 5 }],
  ])("does not end its run before a slow reader (%s)", async (_, fields) => {
    const bench = setUp([{ calls: [{ name: "a" }] }, { text: "ok" }]);
    bench.environment.executeTool = async function* ({ toolCall }): AsyncGenerator<OmniMessage> {
      const toolCallId = toolCall.payload.tool_call_id;
      const start = partialToolCallOutput({ eventType: "start", toolCallId });
      yield start;
      yield malformed(start, { type: "partial_tool_call_output", role: "user", tool_call_id: toolCallId, ...fields });
      yield toolCallOutput({ toolCallId, output: "A" });
    };
    const stream = await collectSlowly(bench.engine.run(ask("go"), { approve: allow }));
    expect(outline(stream).at(-1)).toBe("request_end completed");
    expectReadable(bench);
  });
});
