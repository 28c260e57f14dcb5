import { describe, expect, it } from "vitest";
import { createChatCompletionsModel } from "../../src/llm/chat-completions/model.ts";
import { GenerativeModel } from "../../src/llm/context/generative-model.ts";
import { systemClock } from "../../src/shared/system-clock.ts";
import { calls, chatSettings, delta, generate, generousLimits, sse, undisciplined } from "./support/generate.ts";

/** @param sent Gets the body of each request. */
function contextOf(body: string, sent: unknown[] = []): GenerativeModel {
  const model = createChatCompletionsModel({
    settings: chatSettings("http://127.0.0.1:9/v1"),
    fetch: async (_url, init) => {
      sent.push(await new Response(init?.body ?? null).json());
      return new Response(body, { headers: { "content-type": "text/event-stream" } });
    },
  });
  return new GenerativeModel({ model, systemPrompt: "", limits: generousLimits, clock: systemClock });
}

describe("an answer with thousands of calls", () => {
  it.each([
    ["that share one id", () => "x"],
    ["with ids of their own", (index: number) => `call_${index}`],
  ])("%s has as many, each with an id of its own", async (_, idOf) => {
    const count = 4_000;
    const toolCalls = Array.from({ length: count }, (__, index) => ({
      index,
      id: idOf(index),
      function: { name: "t", arguments: "{}" },
    }));
    const { messages, outcome } = await generate(contextOf(sse([delta({ tool_calls: toolCalls }), delta({}, "stop")])));
    expect(outcome.status).toBe("completed");
    expect(new Set(calls(messages).map(({ id }) => id)).size).toBe(count);
    expect(undisciplined(messages)).toEqual([]);
  });
});

describe("words that every object knows", () => {
  it.each(["constructor", "__proto__", "toString"])("are no finish reasons that we know: %s", async (word) => {
    const { outcome } = await generate(contextOf(sse([delta({ content: "hi" }), delta({}, word)])));
    expect(outcome).toMatchObject({ status: "completed", finishReason: "other", finishReasonRaw: word });
  });
});

describe("reasoning that nests without end", () => {
  it("is left out of what goes back, and the answer stands", async () => {
    const body = `data: {"choices":[{"delta":{"reasoning":"hm","reasoning_details":[${nested(20_000)}]}}]}\n\n${sse([delta({ content: "hi" }), delta({}, "stop")])}`;
    const sent: unknown[] = [];
    const llm = contextOf(body, sent);
    const { messages, outcome } = await generate(llm);
    expect(outcome.status).toBe("completed");
    expect(() => JSON.stringify(messages)).not.toThrow();
    await generate(llm);
    const user = { role: "user", content: "hi" };
    expect(sent[1]).toMatchObject({ messages: [user, { role: "assistant", content: "hi", reasoning: "hm" }, user] });
    expect(JSON.stringify(sent[1])).not.toContain("reasoning_details");
  });
});

function nested(levels: number): string {
  return `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
}
