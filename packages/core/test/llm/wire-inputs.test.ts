import { toolCallOutput, userText } from "@coxswain/core";
import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import { ManualClock } from "@coxswain/testing";
import { afterEach, describe, expect, it } from "vitest";
import { calls, chatContext, complete, generate, texts, undisciplined, wire } from "./support/generate.ts";

let server: WireServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function play(...exchanges: (WireExchange | string)[]) {
  const played = await Promise.all(
    exchanges.map(async (exchange) => (typeof exchange === "string" ? { body: await wire(exchange) } : exchange)),
  );
  server = await startWireServer({ exchanges: played });
  return chatContext(server.url);
}

interface SentMessage {
  role: string;
  content: unknown;
  tool_call_id?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

function sent(index: number): SentMessage[] {
  const request = server?.requests[index];
  if (request === undefined) throw new Error(`request ${index} did not come`);
  return (request.body as { messages: SentMessage[] }).messages;
}

const readA = { id: "call_a", name: "read_file", arguments: '{"file_path":"a.txt"}' };
const readB = { id: "call_b", name: "read_file", arguments: '{"file_path":"b.txt"}' };

describe("calls of one answer", () => {
  it.each(["parallel-calls-without-index", "parallel-calls-with-equal-index", "interleaved-fragments"])(
    "%s are two calls, and both go back with their outputs",
    async (name) => {
      const llm = await play(name, "good-answer");
      const { messages, outcome } = await generate(llm);
      expect(outcome).toEqual({ status: "completed", finishReason: "tool_calls", finishReasonRaw: "tool_calls" });
      expect(calls(messages)).toEqual([readA, readB]);
      expect(undisciplined(messages)).toEqual([]);
      await generate(llm, {
        newMessages: ["call_a", "call_b"].map((toolCallId) => toolCallOutput({ output: toolCallId, toolCallId })),
      });
      expect(sent(1).slice(2)).toEqual([
        {
          role: "assistant",
          content: null,
          tool_calls: [readA, readB].map(({ id, ...call }) => ({ id, type: "function", function: call })),
        },
        { role: "tool", tool_call_id: "call_a", content: "call_a" },
        { role: "tool", tool_call_id: "call_b", content: "call_b" },
      ]);
    },
  );

  it("empty ids and names on continuations go on with the open call", async () => {
    const { messages } = await generate(await play("empty-id-and-name-on-continuations"));
    expect(calls(messages)).toEqual([readA]);
    expect(undisciplined(messages)).toEqual([]);
  });

  it("empty arguments are a call, although the reason is stop, and go back as an empty object", async () => {
    const llm = await play("call-with-empty-arguments-and-stop", "good-answer");
    const { messages, outcome } = await generate(llm);
    expect(outcome.status).toBe("completed");
    expect(calls(messages)).toEqual([{ id: "call_a", name: "list_items", arguments: "" }]);
    await generate(llm, { newMessages: [toolCallOutput({ output: "none", toolCallId: "call_a" })] });
    expect(sent(1)[2]?.tool_calls?.[0]?.function.arguments).toBe("{}");
  });

  it("bad calls are given as they are and go back as JSON objects", async () => {
    const llm = await play("three-bad-calls", "good-answer");
    const { messages, outcome } = await generate(llm);
    expect(outcome.status).toBe("completed");
    expect(calls(messages).map((call) => call.arguments)).toEqual(['{"q":"x"}', "[]", '{"file_path":"a.txt"']);
    await generate(llm, {
      newMessages: ["call_a", "call_b", "call_c"].map((toolCallId) => toolCallOutput({ output: "no", toolCallId })),
    });
    const written = sent(1)[2]?.tool_calls?.map((call) => JSON.parse(call.function.arguments) as unknown);
    expect(written).toEqual([{ q: "x" }, { invalid_arguments: "[]" }, { invalid_arguments: '{"file_path":"a.txt"' }]);
  });

  it("an id that comes again is numbered here and goes back as the provider wrote it", async () => {
    const llm = await play("repeated-call-id-first", "repeated-call-id-second", "good-answer");
    const first = await generate(llm);
    const second = await generate(llm, { newMessages: [toolCallOutput({ output: "A", toolCallId: "call_0" })] });
    expect([...calls(first.messages), ...calls(second.messages)].map((call) => call.id)).toEqual([
      "call_0",
      "call_0~2",
    ]);
    await generate(llm, { newMessages: [toolCallOutput({ output: "B", toolCallId: "call_0~2" })] });
    const pairs = sent(2).flatMap((message) =>
      message.role === "tool"
        ? [`${message.tool_call_id} ${String(message.content)}`]
        : (message.tool_calls ?? []).map((call) => `${call.id} ${call.function.arguments}`),
    );
    expect(pairs).toEqual(['call_0 {"file_path":"a.txt"}', "call_0 A", 'call_0 {"file_path":"b.txt"}', "call_0 B"]);
  });

  it("a call in a summary request is given, and the request does not enter history", async () => {
    const llm = await play("call-instead-of-summary", "good-answer");
    const tools = [{ name: "read_file", description: "Reads." }];
    const { messages, outcome } = await generate(llm, { purpose: "summary", tools });
    expect(outcome.status).toBe("completed");
    expect(calls(messages)).toHaveLength(1);
    await generate(llm, { newMessages: [userText("on")], tools });
    expect(server?.requests[0]?.body).toMatchObject({ tool_choice: "none", tools: [{ type: "function" }] });
    expect(server?.requests[1]?.body).not.toHaveProperty("tool_choice");
    expect(sent(1).map((message) => message.content)).toEqual(["Be brief.", "on"]);
  });
});

describe("text and usage", () => {
  it("null fields, a null delta and a chunk without choices are no words, and usage is found", async () => {
    const { messages, outcome } = await generate(await play("null-fields-and-late-usage"));
    expect(outcome.status).toBe("completed");
    expect(complete(messages)).toMatchObject([
      { type: "thinking", thinking: "Let me think." },
      { type: "text", text: "Hello there." },
    ]);
    const counts = { input: 18, cache_read: 12, cache_write: 0, output: 7, total: 37 };
    expect(messages.at(-1)?.payload).toEqual({ type: "token_usage", session: counts, request: counts });
    expect(undisciplined(messages)).toEqual([]);
  });

  it("a byte order mark, CRLF, comments and fields without a space are framing", async () => {
    const { messages, outcome } = await generate(await play("byte-order-mark-and-comments"));
    expect([outcome.status, texts(messages)]).toEqual(["completed", ["one two"]]);
  });

  it.each([{ splitAt: [343, 360, 368] }, { splitAt: "every-byte" as const }])(
    "characters split over reads stay whole: $splitAt",
    async ({ splitAt }) => {
      const body = await wire("multi-byte-characters");
      const { messages } = await generate(await play({ body, splitAt }));
      expect(texts(messages)).toEqual(["路线：北京→東京 🐧 fin é"]);
    },
  );

  it("a blank summary is text like any other", async () => {
    const { messages, outcome } = await generate(await play("blank-summary"), { purpose: "summary" });
    expect([outcome.status, texts(messages)]).toEqual(["completed", ["[summary]\n \n[/summary]"]]);
  });
});

describe("answers that break off", () => {
  it("[DONE] without a finish reason is malformed, not committed, and its usage is told", async () => {
    const llm = await play("done-without-finish-reason", "good-answer");
    const { messages, outcome } = await generate(llm);
    expect(outcome).toMatchObject({ status: "malformed", usage: { input: 30, output: 9, total: 39 } });
    expect(messages.at(-1)?.payload).toMatchObject({
      text: "Step one is to check the top reg",
      stop_reason: "malformed",
    });
    expect(undisciplined(messages)).toEqual([]);
    const again = await generate(llm);
    expect(texts(again.messages)).toEqual(["All finished."]);
    expect(sent(1)).toEqual(sent(0));
  });

  it("an error object after text has its class and the provider's words", async () => {
    const { messages, outcome } = await generate(await play("error-after-text"));
    expect(outcome.status).toBe("timeout");
    expect(outcome.errorMessage).toContain("upstream worker limit reached (9/8)");
    expect(messages.at(-1)?.payload).toMatchObject({ text: "The answer be", stop_reason: "timeout" });
  });

  it("an error object as the first frame is no empty answer", async () => {
    const { messages, outcome } = await generate(await play("error-as-first-frame"));
    expect([messages, outcome.status]).toEqual([[], "timeout"]);
    expect(outcome.errorMessage).toContain("balance used up for this key");
  });

  it("a reset inside a call closes its fragments as timeout, and nothing of it is sent", async () => {
    const llm = await play({ body: await wire("reset-inside-a-call"), end: "destroy" }, "answer-after-the-reset");
    const first = await generate(llm);
    expect(first.outcome.status).toBe("timeout");
    expect(complete(first.messages)).toMatchObject([
      { type: "text", text: "Alpha beta gamma" },
      { type: "tool_call", tool_call_id: "call_dead", stop_reason: "timeout" },
    ]);
    expect(undisciplined(first.messages)).toEqual([]);
    const second = await generate(llm);
    expect(texts(second.messages)).toEqual(["Alpha beta gamma delta."]);
    expect(JSON.stringify(sent(1))).not.toContain("call_dead");
  });

  it("a head and then silence is timeout at the first-content limit", async () => {
    const clock = new ManualClock();
    const held: WireExchange = { body: await wire("head-then-silence"), end: "hold" };
    server = await startWireServer({ exchanges: [held] });
    const generated = generate(chatContext(server.url, { clock }));
    await clock.nextSleep();
    clock.advance(300_000);
    expect((await generated).outcome).toMatchObject({ status: "timeout" });
  });

  it("a stop during the silence ends the request at once, and the next one works", async () => {
    const held: WireExchange = { body: await wire("head-then-silence"), end: "hold" };
    const controller = new AbortController();
    server = await startWireServer({
      handler: async (_request, index) => {
        if (index > 0) return { body: await wire("good-answer") };
        setImmediate(() => controller.abort());
        return held;
      },
    });
    const llm = chatContext(server.url);
    const { messages, outcome } = await generate(llm, { signal: controller.signal });
    expect([messages, outcome.status]).toEqual([[], "aborted"]);
    expect(texts((await generate(llm)).messages)).toEqual(["All finished."]);
  });
});
