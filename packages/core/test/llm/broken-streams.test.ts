import { systemClock, toolCallOutput } from "@coxswain/core";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { createChatCompletionsModel } from "../../src/llm/chat-completions/model.ts";
import { GenerativeModel } from "../../src/llm/context/generative-model.ts";
import {
  calls,
  chatSettings,
  complete,
  delta,
  generate,
  generousLimits,
  sse,
  texts,
  undisciplined,
} from "./support/generate.ts";

/**
 * A context whose answers have this body; the transport itself is none of this test's business.
 *
 * @param sent Gets the body of each request.
 */
function contextOf(body: string, sent: unknown[] = []): GenerativeModel {
  const fetch: typeof globalThis.fetch = async (_url, init) => {
    sent.push(await new Response(init?.body ?? null).json());
    return new Response(body);
  };
  return new GenerativeModel({
    model: createChatCompletionsModel({ settings: chatSettings("http://localhost"), fetch }),
    systemPrompt: "",
    limits: generousLimits,
    clock: systemClock,
  });
}

describe("deltas", () => {
  it("of any JSON never throw, and what they open is closed", async () => {
    const fields = fc.dictionary(
      fc.constantFrom(
        "content",
        "reasoning",
        "reasoning_content",
        "reasoning_details",
        "tool_calls",
        "refusal",
        "role",
      ),
      fc.oneof(
        fc.jsonValue(),
        fc.string({ unit: "binary" }),
        fc.array(fc.record({ index: fc.jsonValue(), id: fc.jsonValue(), function: fc.jsonValue() })),
      ),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(fields, { maxLength: 6 }), async (deltas) => {
        const body = sse([...deltas.map((each) => delta(each)), delta({}, "stop")]);
        const { messages } = await generate(contextOf(body));
        expect(undisciplined(messages)).toEqual([]);
        expect(JSON.stringify(messages)).not.toMatch(/\\ud[89a-f]/);
      }),
      { numRuns: 100 },
    );
  });
});

describe("assembly of calls", () => {
  const call = (fields: Record<string, unknown>) => delta({ tool_calls: [fields] });
  const run = async (chunks: readonly unknown[], finish = "tool_calls") => {
    const { messages, outcome } = await generate(contextOf(sse([...chunks, delta({}, finish)])));
    expect(undisciplined(messages)).toEqual([]);
    return { calls: calls(messages).map(({ name, arguments: text }) => `${name} ${text}`), outcome, messages };
  };
  const f = (name: string | undefined, args: unknown) => ({ function: { name, arguments: args } });

  it("takes arguments that come as an object", async () => {
    expect((await run([call({ index: 0, id: "a", ...f("x", { p: 1 }) })])).calls).toEqual(['x {"p":1}']);
  });

  it("tells whole calls apart that have neither id nor index, in one chunk and in several", async () => {
    const both = delta({ tool_calls: [f("x", '{"p":1}'), f("x", '{"p":2}')] });
    expect((await run([both])).calls).toEqual(['x {"p":1}', 'x {"p":2}']);
    expect((await run([call(f("x", '{"p":1}')), call(f("x", '{"p":2}'))])).calls).toEqual(['x {"p":1}', 'x {"p":2}']);
  });

  it("tells whole calls with index 0 and no id apart", async () => {
    const chunks = [call({ index: 0, ...f("x", '{"p":1}') }), call({ index: 0, ...f("y", '{"p":2}') })];
    expect((await run(chunks)).calls).toEqual(['x {"p":1}', 'y {"p":2}']);
  });

  it("goes on with a call whose head is repeated on every fragment", async () => {
    const chunks = ['{"p"', ':"}', '"}'].map((piece) => call({ index: 0, id: "a", ...f("x", piece) }));
    expect((await run(chunks)).calls).toEqual(['x {"p":"}"}']);
  });

  it("does not double a call that is sent whole again at the end", async () => {
    const chunks = [
      call({ index: 0, id: "a", ...f("x", '{"p":1}') }),
      call({ index: 0, id: "a", ...f("x", '{"p":1}') }),
    ];
    expect((await run(chunks)).calls).toEqual(['x {"p":1}']);
  });

  it("waits for a name that comes late", async () => {
    const chunks = [call({ index: 0, id: "a", ...f(undefined, '{"p"') }), call({ index: 0, ...f("x", ":1}") })];
    expect((await run(chunks)).calls).toEqual(['x {"p":1}']);
  });

  it("makes an id where there is none, another for each call", async () => {
    const { messages } = await run([
      delta({
        tool_calls: [
          { index: 0, id: null, ...f("x", "{}") },
          { index: 1, ...f("y", "{}") },
        ],
      }),
    ]);
    const ids = calls(messages).map((each) => each.id);
    expect(new Set(ids.filter((id) => id !== "")).size).toBe(2);
  });

  it("numbers one id that two calls of an answer share, and sends both back apart", async () => {
    const toolCalls = ["x", "y"].map((name, index) => ({ index, id: "a", ...f(name, "{}") }));
    const sent: unknown[] = [];
    const llm = contextOf(sse([delta({ tool_calls: toolCalls }), delta({}, "tool_calls")]), sent);
    const { messages } = await generate(llm);
    const ids = ["a", "a~2"];
    expect(calls(messages).map(({ id }) => id)).toEqual(ids);
    await generate(llm, { newMessages: ids.map((toolCallId) => toolCallOutput({ output: toolCallId, toolCallId })) });
    expect(sent[1]).toMatchObject({
      messages: [
        { role: "user" },
        {
          role: "assistant",
          tool_calls: [
            { id: "a", function: { name: "x" } },
            { id: "a~2", function: { name: "y" } },
          ],
        },
        { role: "tool", tool_call_id: "a", content: "a" },
        { role: "tool", tool_call_id: "a~2", content: "a~2" },
      ],
    });
  });

  it("a call cut by the output limit is malformed and is not complete", async () => {
    const { outcome, messages } = await run([call({ index: 0, id: "a", ...f("x", '{"p":1}') })], "length");
    expect(outcome).toMatchObject({ status: "malformed" });
    expect(outcome).not.toHaveProperty("finishReason");
    expect(complete(messages)).toMatchObject([{ type: "tool_call", stop_reason: "malformed" }]);
  });

  it("a call without a name is malformed", async () => {
    expect((await run([call({ index: 0, id: "a", ...f("", "{}") })])).outcome.status).toBe("malformed");
  });
});

describe("good ends", () => {
  const end = async (chunks: readonly unknown[], tail?: string) =>
    generate(contextOf(tail === undefined ? sse(chunks) : sse(chunks, tail)));

  it("a clean end of the body after the finish reason needs no [DONE]", async () => {
    const { outcome } = await end([delta({ content: "hi" }, "stop")], "");
    expect(outcome).toEqual({ status: "completed", finishReason: "stop", finishReasonRaw: "stop" });
  });

  it("text at the output limit is completed with length", async () => {
    const { outcome } = await end([delta({ content: "hi" }, "length")]);
    expect(outcome).toMatchObject({ status: "completed", finishReason: "length" });
  });

  it.each(["content_filter", "sensitive"])("%s is completed with a notice, also without text", async (word) => {
    const { messages, outcome } = await end([delta({}, word)]);
    expect(outcome).toMatchObject({ status: "completed", finishReason: "content_filter", finishReasonRaw: word });
    expect(messages.map((message) => message.payload.type)).toEqual(["notice", "token_usage"]);
  });

  it("a refusal is text and a content filter", async () => {
    const { messages, outcome } = await end([delta({ refusal: "I cannot." }, "stop")]);
    expect([texts(messages), outcome.finishReason]).toEqual([["I cannot."], "content_filter"]);
  });

  it.each(["stop", "tool_calls", "length"])(
    "neither text nor call with %s is malformed, with the reason",
    async (word) => {
      const { messages, outcome } = await end([delta({ reasoning: "hm" }), delta({}, word)]);
      expect(outcome).toMatchObject({ status: "malformed", finishReason: word });
      expect(messages.some((message) => message.payload.type === "token_usage")).toBe(false);
    },
  );

  it("a surrogate pair split over two deltas is one character, and half a pair becomes U+FFFD", async () => {
    const body = `data: {"choices":[{"delta":{"content":"a\\ud83d"}}]}\n\ndata: {"choices":[{"delta":{"content":"\\udc27b\\ud83d"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n`;
    const { messages } = await generate(contextOf(body));
    expect(texts(messages)).toEqual(["a🐧b\ufffd"]);
    expect(undisciplined(messages)).toEqual([]);
  });
});
