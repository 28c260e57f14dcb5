import { systemClock } from "@coxswain/core";
import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { createChatCompletionsModel } from "../../src/llm/chat-completions/model.ts";
import { GenerativeModel } from "../../src/llm/context/generative-model.ts";
import {
  calls,
  chatContext,
  chatSettings,
  complete,
  delta,
  generate,
  generousLimits,
  sse,
  texts,
  undisciplined,
  wire,
} from "./support/generate.ts";

const inputs = [
  "parallel-calls-without-index",
  "interleaved-fragments",
  "null-fields-and-late-usage",
  "byte-order-mark-and-comments",
  "multi-byte-characters",
  "good-answer",
];

/** A context whose answers come in these pieces; the transport itself is none of this test's business. */
function contextOf(pieces: readonly Uint8Array[], broken?: Error): GenerativeModel {
  const fetch = async () =>
    new Response(
      new ReadableStream<Uint8Array>({
        start(controller) {
          for (const piece of pieces) controller.enqueue(piece);
          if (broken === undefined) controller.close();
        },
        pull(controller) {
          if (broken !== undefined) controller.error(broken);
        },
      }),
    );
  return new GenerativeModel({
    model: createChatCompletionsModel({ settings: chatSettings("http://localhost"), fetch }),
    systemPrompt: "",
    limits: generousLimits,
    clock: systemClock,
  });
}

function pieces(body: Buffer, offsets: readonly number[]): Uint8Array[] {
  const sorted = [...new Set([0, ...offsets, body.length])].filter((at) => at <= body.length).sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => new Uint8Array(body.subarray(sorted[index], end)));
}

describe("splits", () => {
  it.each(inputs)("%s says the same however its bytes are split", async (name) => {
    const body = await wire(name);
    const whole = await generate(contextOf([body]));
    const eachByte = await generate(contextOf(pieces(body, Array.from(body.keys()))));
    expect(complete(eachByte.messages)).toEqual(complete(whole.messages));
    expect(eachByte.outcome).toEqual(whole.outcome);
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(body.length), { maxLength: 12 }), async (offsets) => {
        const split = await generate(contextOf(pieces(body, offsets)));
        expect(complete(split.messages)).toEqual(complete(whole.messages));
      }),
      { numRuns: 40 },
    );
  });
});

describe("cuts", () => {
  it.each(inputs)(
    "%s cut at any byte ends, closes its fragments, and is never completed before its end",
    async (name) => {
      const body = await wire(name);
      const finish = /"finish_reason":"\w+"\}\]\}\r?\n/.exec(body.toString("latin1"));
      const goodEnd = (finish?.index ?? 0) + (finish?.[0].length ?? 0);
      for (let length = 0; length < body.length; length += 1) {
        const { messages, outcome } = await generate(contextOf(length === 0 ? [] : [body.subarray(0, length)]));
        expect(undisciplined(messages)).toEqual([]);
        if (length < goodEnd) expect([length, outcome.status]).toEqual([length, "malformed"]);
        else expect(["completed", "malformed"]).toContain(outcome.status);
      }
    },
  );

  it("a read that fails ends the request as timeout, whatever had come", async () => {
    const body = await wire("good-answer");
    const reset = Object.assign(new TypeError("terminated"), {
      cause: Object.assign(new Error("x"), { code: "ECONNRESET" }),
    });
    for (let length = 1; length < body.length - 15; length += 7) {
      const { messages, outcome } = await generate(contextOf([body.subarray(0, length)], reset));
      expect(outcome.status).toBe("timeout");
      expect(undisciplined(messages)).toEqual([]);
    }
  });

  it("bytes of any kind end the request and never throw", async () => {
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 300 }),
      fc
        .array(fc.json(), { maxLength: 4 })
        .map((values) => Buffer.from(values.map((value) => `data: ${value}\n\n`).join(""))),
      fc.json().map((value) => Buffer.from(value)),
    );
    await fc.assert(
      fc.asyncProperty(noise, async (bytes) => {
        const { messages, outcome } = await generate(contextOf(bytes.length === 0 ? [] : [bytes]));
        expect(outcome.status).not.toBe("completed");
        expect(undisciplined(messages)).toEqual([]);
      }),
      { numRuns: 300 },
    );
  });

  it("deltas of any JSON never throw, and what they open is closed", async () => {
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
        const { messages } = await generate(contextOf([Buffer.from(body)]));
        expect(undisciplined(messages)).toEqual([]);
        expect(JSON.stringify(messages)).not.toMatch(/\\ud[89a-f]/);
      }),
      { numRuns: 300 },
    );
  });
});

describe("assembly of calls", () => {
  const call = (fields: Record<string, unknown>) => delta({ tool_calls: [fields] });
  const run = async (chunks: readonly unknown[], finish = "tool_calls") => {
    const { messages, outcome } = await generate(contextOf([Buffer.from(sse([...chunks, delta({}, finish)]))]));
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
    const { messages } = await run([
      delta({
        tool_calls: [
          { index: 0, id: "a", ...f("x", "{}") },
          { index: 1, id: "a", ...f("y", "{}") },
        ],
      }),
    ]);
    expect(calls(messages).map((each) => each.id)).toEqual(["a", "a~2"]);
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
    generate(contextOf([Buffer.from(tail === undefined ? sse(chunks) : sse(chunks, tail))]));

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
    const { messages } = await generate(contextOf([Buffer.from(body)]));
    expect(texts(messages)).toEqual(["a🐧b\ufffd"]);
    expect(undisciplined(messages)).toEqual([]);
  });

  it.each([
    [{ prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 75 } }, [25, 75, 10, 110]],
    [{ prompt_tokens: 100, completion_tokens: 10, prompt_cache_hit_tokens: 75 }, [25, 75, 10, 110]],
    [
      {
        prompt_tokens: 100,
        completion_tokens: 4,
        total_tokens: 110,
        completion_tokens_details: { reasoning_tokens: 6 },
      },
      [100, 0, 10, 110],
    ],
    [{ prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 99 } }, [0, 10, 1, 11]],
    [{ prompt_tokens: 10, completion_tokens: null, total_tokens: 12, prompt_tokens_details: null }, [10, 0, 2, 12]],
  ])("usage %j counts each token once", async (usage, [input, cacheRead, output, total]) => {
    const { messages } = await end([delta({ content: "hi" }, "stop"), { choices: [], usage }]);
    expect(messages.at(-1)?.payload).toMatchObject({
      request: { input, cache_read: cacheRead, cache_write: 0, output, total },
    });
  });
});

describe("over loopback", () => {
  let server: WireServer | undefined;
  afterEach(async () => {
    await server?.close();
    server = undefined;
  });

  it("[DONE] ends the answer although the connection stays open", async () => {
    server = await startWireServer({ exchanges: [{ body: await wire("good-answer"), end: "hold" }] });
    const { outcome } = await generate(chatContext(server.url));
    expect(outcome.status).toBe("completed");
  });

  it("connections are used again", async () => {
    const body = await wire("good-answer");
    server = await startWireServer({ handler: () => ({ body }) });
    const llm = chatContext(server.url);
    for (let index = 0; index < 8; index += 1) await generate(llm);
    // The end of an answer may be read after the next request has begun, so that there are two of them.
    expect(new Set(server.requests.map((request) => request.connection)).size).toBeLessThan(4);
  });

  const shapes: [string, WireExchange, string, string][] = [
    [
      "an error as plain JSON",
      { body: '{"error":{"message":"overloaded now","type":"overloaded_error"}}' },
      "timeout",
      "overloaded now",
    ],
    ["a page of a proxy", { body: "<html><title>Gateway</title></html>" }, "malformed", "Gateway"],
    ["nothing", { body: "" }, "malformed", "ended"],
    ["an event that is no JSON", { body: "data: {oops\n\n" }, "malformed", "{oops"],
    ["an error event", { body: 'event: error\ndata: {"message":"Rate limit reached"}\n\n' }, "timeout", "Rate limit"],
    ["an error as a text", { body: 'data: {"error":"model overloaded"}\n\n' }, "timeout", "model overloaded"],
    ["an unknown error object", { body: 'data: {"error":{"message":"odd"}}\n\n' }, "malformed", "odd"],
    [
      "an error with the key in it",
      { body: 'data: {"error":{"message":"bad test-key-0123456789"}}\n\n' },
      "malformed",
      "[redacted]",
    ],
  ];
  it.each(shapes)("%s inside a 200 is %s", async (_name, exchange, status, words) => {
    server = await startWireServer({ exchanges: [exchange] });
    const { messages, outcome } = await generate(chatContext(server.url));
    expect([messages, outcome.status]).toEqual([[], status]);
    expect(outcome.errorMessage).toContain(words);
    expect(outcome.errorMessage).not.toContain("test-key-0123456789");
  });
});
