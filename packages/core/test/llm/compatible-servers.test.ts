import { assistantText, createLanguageModel, toolCall, toolCallOutput, userText } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { GenerativeModel, type GenerativeModelOptions } from "../../src/llm/context/generative-model.ts";
import { systemClock } from "../../src/shared/system-clock.ts";
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
  wire,
} from "./support/generate.ts";
import { record } from "./support/usage.ts";

interface SentMessage extends Record<string, unknown> {
  role: string;
}

interface SentBody extends Record<string, unknown> {
  messages: SentMessage[];
}

interface Server {
  llm: GenerativeModel;
  /** What it was asked, in order. */
  sent: SentBody[];
}

/** A server at this address that gives these answers in order, and the last of them from then on. */
async function server(
  answers: readonly (string | Buffer)[],
  at: { baseUrl?: string; modelId?: string } = {},
  options: Partial<GenerativeModelOptions> = {},
): Promise<Server> {
  const sent: SentBody[] = [];
  const fetch: typeof globalThis.fetch = (_url, init) => {
    sent.push(JSON.parse(typeof init?.body === "string" ? init.body : "") as SentBody);
    const body = answers[sent.length - 1] ?? answers.at(-1) ?? "";
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
  const settings = { ...chatSettings(at.baseUrl ?? "http://127.0.0.1:9/v1"), modelId: at.modelId ?? "test-model" };
  const model = await createLanguageModel(settings, { fetch });
  const base = { model, systemPrompt: "", limits: generousLimits, clock: systemClock };
  return { sent, llm: new GenerativeModel({ ...base, ...options }) };
}

async function heard(name: string) {
  const { llm } = await server([await wire(name)]);
  const { messages, outcome } = await generate(llm);
  expect(undisciplined(messages)).toEqual([]);
  return { messages, outcome, thinking: thinkingOf(messages), counts: messages.at(-1)?.payload };
}

function thinkingOf(messages: Parameters<typeof complete>[0]): string[] {
  return complete(messages).flatMap((payload) => (payload.type === "thinking" ? [payload.thinking] : []));
}

const done = { status: "completed", finishReason: "stop" };
const counted = (...counts: Parameters<typeof record>) => ({ type: "token_usage", request: record(...counts) });

describe("calls", () => {
  it("whose fragments carry another id each go on at their index, and keep the first id", async () => {
    const { messages, outcome } = await heard("another-id-on-every-fragment");
    expect(outcome.status).toBe("completed");
    expect(calls(messages)).toEqual([
      { id: "call_a1", name: "read_file", arguments: '{"file_path":"a.txt"}' },
      { id: "call_b1", name: "read_file", arguments: '{"file_path":"b.txt"}' },
    ]);
  });

  it("that come whole, with arguments as objects, at one index and with reason stop are two calls", async () => {
    const { messages, outcome, thinking, counts } = await heard("whole-calls-with-object-arguments-and-stop");
    expect(outcome).toMatchObject(done);
    expect(thinking).toEqual(["I need both files."]);
    expect(calls(messages).map(({ arguments: text }) => text)).toEqual([
      '{"file_path":"a.txt"}',
      '{"file_path":"b.txt"}',
    ]);
    expect(counts).toMatchObject(counted(20, 0, 0, 5));
  });

  it("of an empty list in each chunk are none", async () => {
    const { messages, thinking, counts } = await heard("empty-call-lists-and-usage-in-every-chunk");
    expect([thinking, texts(messages), calls(messages)]).toEqual([["Hm"], ["Hello there."], []]);
    expect(counts).toMatchObject(counted(20, 0, 0, 5));
  });
});

describe("finish reasons", () => {
  it("that are written out as null, or empty, are none yet", async () => {
    const { messages, outcome } = await heard("finish-reason-written-out-as-null");
    expect([texts(messages), outcome]).toMatchObject([["One two three."], done]);
    expect((await heard("cut-while-the-reason-is-written-as-null")).outcome.status).toBe("malformed");
  });

  it("that come before the words do not end the answer", async () => {
    const chunks = [delta({ reasoning_content: "Hm." }, "stop"), delta({ content: "Hello." }), delta({}, "stop")];
    const { llm } = await server([sse(chunks)]);
    const { messages, outcome } = await generate(llm);
    expect([texts(messages), outcome]).toMatchObject([["Hello."], done]);
  });

  it("that say that the server ran out of something are a timeout, with what was counted", async () => {
    const { messages, outcome } = await heard("no-resources-in-the-middle");
    expect(outcome).toMatchObject({ status: "timeout" });
    expect(outcome.errorMessage).toContain("insufficient_system_resource");
    expect(messages.at(-1)?.payload).toMatchObject({ text: "The answer be", stop_reason: "timeout" });
  });
});

describe("reasoning", () => {
  it.each([
    ["words-repeated-in-a-second-reasoning-field", { reasoning: "Let me see." }],
    ["both-names-for-reasoning", { reasoning_content: "Let me see." }],
  ])("of %s is told once and goes back in the field that it came in", async (name, back) => {
    const { llm, sent } = await server([await wire(name), await wire("good-answer")]);
    const { messages, outcome } = await generate(llm);
    expect([thinkingOf(messages), texts(messages), outcome]).toMatchObject([["Let me see."], ["Seen."], done]);
    await generate(llm);
    expect(sent[1]?.messages[1]).toMatchObject({ role: "assistant", content: "Seen.", ...back });
  });

  it("of two kinds goes back with its details joined", async () => {
    const name = "words-repeated-in-a-second-reasoning-field";
    const { llm, sent } = await server([await wire(name), await wire("good-answer")]);
    const { messages } = await generate(llm);
    expect(messages.at(-1)?.payload).toMatchObject(counted(5, 12, 3, 5));
    await generate(llm);
    expect(sent[1]?.messages[1]?.["reasoning_details"]).toEqual([
      { type: "reasoning.text", text: "Let me see.", format: "unknown", index: 0 },
    ]);
  });

  it("that stands inside the content is thinking, and does not go back in a field that nobody has sent", async () => {
    const { llm, sent } = await server([await wire("thinking-inside-the-content"), await wire("good-answer")]);
    const { messages } = await generate(llm);
    expect([thinkingOf(messages), texts(messages)]).toEqual([["Let me see."], ["Seen."]]);
    await generate(llm);
    expect(sent[1]?.messages[1]).toEqual({ role: "assistant", content: "Seen." });
  });

  const call = [
    userText("read it"),
    toolCall({ name: "read_file", toolCallId: "call_a", arguments: '{"file_path":"a.txt"}' }),
    toolCallOutput({ output: "A", toolCallId: "call_a" }),
    assistantText("Read."),
  ];

  it.each([
    ["https://api.moonshot.ai/v1", " "],
    ["https://api.moonshot.cn/v1", " "],
    ["https://api.deepseek.com/v1", ""],
  ])("is filled in for %s, which refuses an answer of its model without any", async (baseUrl, filler) => {
    const { llm, sent } = await server([await wire("good-answer")], { baseUrl }, { history: call });
    await generate(llm);
    const answers = sent[0]?.messages.filter(({ role }) => role === "assistant") ?? [];
    expect(answers.map((answer) => answer["reasoning_content"])).toEqual([filler, filler]);
  });

  it("that was told is not replaced by filling", async () => {
    const first = sse([delta({ reasoning_content: "Hm." }), delta({ content: "Hello." }, "stop")]);
    const { llm, sent } = await server([first, await wire("good-answer")], { baseUrl: "https://api.moonshot.ai/v1" });
    await generate(llm);
    await generate(llm);
    expect(sent[1]?.messages[1]).toMatchObject({ content: "Hello.", reasoning_content: "Hm." });
  });

  it("is filled in for nobody else, and never goes to who refuses the field", async () => {
    const { llm, sent } = await server([await wire("good-answer")], {}, { history: call });
    await generate(llm);
    expect(JSON.stringify(sent[0])).not.toContain("reasoning");
    const answer = sse([delta({ reasoning_content: "Hm." }), delta({ content: "Hello." }, "stop")]);
    const strict = await server([answer], { baseUrl: "https://api.mistral.ai/v1" });
    await generate(strict.llm);
    await generate(strict.llm);
    expect(strict.sent[1]?.messages[1]).toEqual({ role: "assistant", content: "Hello." });
  });
});

describe("a level of thinking", () => {
  it.each([
    ["https://api.z.ai/api/paas/v4", { thinking: { type: "enabled" } }, { thinking: { type: "disabled" } }],
    ["https://api.deepseek.com/v1", { thinking: { type: "enabled" } }, { thinking: { type: "disabled" } }],
    ["https://api.moonshot.ai/v1", { thinking: { type: "enabled" } }, { thinking: { type: "disabled" } }],
    ["https://dashscope.aliyuncs.com/compatible-mode/v1", { enable_thinking: true }, { enable_thinking: false }],
    ["http://127.0.0.1:11434/v1", { reasoning_effort: "high" }, { reasoning_effort: "none" }],
  ])("is told to %s in the field that it has for it", async (baseUrl, high, none) => {
    const { llm, sent } = await server([await wire("good-answer")], { baseUrl });
    for (const thinkingLevel of ["high", "none", undefined] as const) await generate(llm, { thinkingLevel });
    const fields = sent.map((body) =>
      Object.fromEntries(Object.entries(body).filter(([name]) => /thinking|reasoning/.test(name))),
    );
    expect(fields).toEqual([high, none, {}]);
  });
});

describe("errors inside an answer", () => {
  it.each(["overflow-as-an-error-event", "overflow-as-an-error-object"])(
    "%s says that the input does not fit",
    async (name) => {
      const { messages, outcome } = await heard(name);
      expect([messages, outcome]).toMatchObject([[], { status: "failed", contextOverflow: true }]);
    },
  );
});

describe("framing", () => {
  it("comments, events without data and pings are signs of life", async () => {
    const { messages, outcome } = await heard("signs-of-life-between");
    expect([texts(messages), outcome]).toMatchObject([["Alive."], done]);
  });

  it("usage may stand inside the choice", async () => {
    expect((await heard("usage-inside-the-choice")).counts).toMatchObject(counted(8, 12, 0, 5));
  });
});

describe("a request without calls", () => {
  const tools = [{ name: "read_file", description: "Reads." }];

  it.each([
    [{ baseUrl: "https://api.z.ai/api/paas/v4" }],
    [{ baseUrl: "https://open.bigmodel.cn/api/paas/v4" }],
    [{ baseUrl: "https://openrouter.ai/api/v1", modelId: "z-ai/glm-5.3" }],
  ])("says nothing of a choice where every choice is refused: $baseUrl", async (at) => {
    const { llm, sent } = await server([await wire("good-answer")], at);
    await generate(llm, { purpose: "summary", tools });
    expect(sent[0]).toMatchObject({ tools: [{ type: "function" }] });
    expect(sent[0]).not.toHaveProperty("tool_choice");
  });

  it.each(["https://api.deepseek.com/v1", "https://api.moonshot.ai/v1", "http://127.0.0.1:11434/v1"])(
    "forbids them at %s",
    async (baseUrl) => {
      const { llm, sent } = await server([await wire("good-answer")], { baseUrl });
      await generate(llm, { purpose: "summary", tools });
      expect(sent[0]).toMatchObject({ tool_choice: "none" });
    },
  );
});
