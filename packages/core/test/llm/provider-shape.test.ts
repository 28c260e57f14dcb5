import { setFlagsFromString } from "node:v8";
import {
  type OmniMessage,
  type ThinkingLevelName,
  toolCall,
  toolCallOutput,
  userImage,
  userText,
} from "@coxswain/core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProviderFault } from "../../src/llm/fault/provider-fault.ts";
import { openaiEffort } from "../../src/llm/provider/openai-effort.ts";
import { calls, generate, texts } from "./support/generate.ts";
import { context, finish, text } from "./support/scripted-context.ts";
import { contextFor, namedEvent } from "./support/streams.ts";

const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** What a model of this name is asked for. */
async function asked(
  provider: string,
  modelId: string,
  options: {
    level?: ThinkingLevelName;
    maxOutputTokens?: number;
    contextWindow?: number;
    history?: OmniMessage[];
  } = {},
) {
  const { level, ...rest } = options;
  const { llm, model } = context([{ parts: [text("a"), finish()] }], { provider, modelId, ...rest });
  await generate(llm, { thinkingLevel: level });
  return model.calls[0];
}

describe("a level of thinking", () => {
  it.each([
    ["claude-sonnet-4-5", { thinking: { type: "enabled", budgetTokens: 16_384 }, toolStreaming: true }],
    ["claude-sonnet-4-20250514", { thinking: { type: "enabled", budgetTokens: 16_384 }, toolStreaming: true }],
    ["claude-opus-4-7", { thinking: { type: "adaptive", display: "summarized" }, effort: "high", toolStreaming: true }],
    ["claude-sonnet-5", { thinking: { type: "adaptive", display: "summarized" }, effort: "high", toolStreaming: true }],
    ["kimi-k2", { thinking: { type: "enabled", budgetTokens: 16_384 }, toolStreaming: false }],
  ])("is a budget or a word for %s", async (modelId, expected) => {
    const call = await asked("anthropic.messages", modelId, { level: "high", maxOutputTokens: 40_000 });
    expect(call?.providerOptions).toEqual({ anthropic: expected });
  });

  it("is part of the answer's tokens, and half of them at most", async () => {
    const roomy = await asked("anthropic.messages", "claude-sonnet-4-5", { level: "max", maxOutputTokens: 40_000 });
    // The package sends the sum of both.
    expect(roomy?.maxOutputTokens).toBe(40_000 - 20_000);
    expect(roomy?.providerOptions?.["anthropic"]).toMatchObject({ thinking: { budgetTokens: 20_000 } });
    const narrow = await asked("anthropic.messages", "claude-sonnet-4-5", { level: "max", maxOutputTokens: 1_500 });
    expect(narrow?.maxOutputTokens).toBe(1_500);
    expect(narrow?.providerOptions?.["anthropic"]).not.toHaveProperty("thinking");
  });

  it("is not asked of Claude in the middle of calls that it made without", async () => {
    const history = [userText("go"), toolCall({ name: "x", arguments: '{"a":1}', toolCallId: "c" })];
    const { llm, model } = context([{ parts: [text("a"), finish()] }], {
      provider: "anthropic.messages",
      modelId: "claude-sonnet-4-5",
      history,
    });
    await generate(llm, { thinkingLevel: "high", newMessages: [toolCallOutput({ output: "o", toolCallId: "c" })] });
    expect(model.calls[0]?.providerOptions?.["anthropic"]).not.toHaveProperty("thinking");
  });

  it.each([
    ["gemini-3-pro-preview", "none", { thinkingLevel: "low", includeThoughts: false }],
    ["gemini-3-flash", "none", { thinkingLevel: "minimal", includeThoughts: false }],
    ["gemini-2.5-flash", "none", { thinkingBudget: 0, includeThoughts: false }],
    ["gemini-2.5-pro", "none", { thinkingBudget: 128, includeThoughts: false }],
    ["gemini-2.5-pro", "medium", { thinkingBudget: 8_192, includeThoughts: true }],
  ] as const)("is what %s understands by %s", async (modelId, level, thinkingConfig) => {
    const call = await asked("google.generative-ai", modelId, { level });
    expect(call?.providerOptions).toEqual({ google: { thinkingConfig } });
  });

  it("asks responses for a summary, and never for more than was said", async () => {
    const said = await asked("openai.responses", "gpt-5", { level: "max" });
    expect(said?.providerOptions?.["openai"]).toMatchObject({ reasoningEffort: "high", reasoningSummary: "auto" });
    const silent = await asked("openai.responses", "gpt-5");
    expect(silent?.providerOptions).toEqual({ openai: { store: false } });
  });
});

describe("OpenAI's words for a level", () => {
  it.each([
    ["gpt-5", "none", "minimal"],
    ["gpt-5-mini", "max", "high"],
    ["openai/gpt-5.1", "none", "none"],
    ["gpt-5.2", "max", "xhigh"],
    ["gpt-6-sol", "max", "max"],
    ["o3", "none", "low"],
    ["o4-mini", "xhigh", "high"],
    ["another-model", "max", "xhigh"],
  ] as const)("%s calls %s %s", (modelId, level, word) => expect(openaiEffort(modelId, level)).toBe(word));
});

describe("the tokens of an answer", () => {
  it.each([
    ["claude-sonnet-4-5", 0, 128_000],
    ["claude-sonnet-4-5", 50_000, 49_000],
    ["kimi-k2", 0, 8_192],
  ])("are told to Anthropic in any case: %s in a window of %d", async (modelId, contextWindow, most) => {
    const call = await asked("anthropic.messages", modelId, { contextWindow });
    expect(call?.maxOutputTokens).toBeLessThanOrEqual(most);
    expect(call?.maxOutputTokens).toBeGreaterThan(most * 0.95);
  });

  it("are the provider's business elsewhere", async () => {
    expect(await asked("openai.responses", "gpt-5", { contextWindow: 400_000 })).not.toHaveProperty("maxOutputTokens");
  });
});

describe("images and files", () => {
  // As in a process that has compiled many expressions: there a long match takes room for each character.
  beforeAll(() => setFlagsFromString("--no-regexp-optimization"));
  afterAll(() => setFlagsFromString("--regexp-optimization"));

  async function sent(provider: string, messages: OmniMessage[], options: { vision?: boolean } = {}) {
    const { llm, model } = context([{ parts: [text("a"), finish()] }], { provider, ...options });
    const { outcome } = await generate(llm, { newMessages: messages });
    expect(outcome).toMatchObject({ status: "completed" });
    return model.calls[0]?.prompt.flatMap((message) => (message.role === "user" ? message.content : []));
  }
  const file = (mediaType: string, data: string): OmniMessage => ({
    ...userText(""),
    payload: { type: "inline_data", role: "user", data, mime_type: mediaType },
  });

  it("go by what they are, not by what they are called", async () => {
    const parts = await sent("anthropic.messages", [userImage(`data:image/jpeg;base64,${pixel}`)]);
    expect(parts).toMatchObject([{ type: "file", mediaType: "image/png", data: pixel }]);
  });

  it.each([
    ["half a group of base64", [userImage("data:image/png;base64,iVBOR")], "[an image that cannot be read]"],
    ["no image at all", [userImage("data:image/png;base64,@@@")], "[an image that cannot be read]"],
    ["an address that is none", [userImage("nowhere")], "[an image that cannot be read]"],
    ["a type that nobody reads", [file("application/zip", "UEsDBA==")], /^\[a file of type application\/zip/],
    ["a drawing", [file("image/bmp", "Qk0=")], /^\[an image of type image\/bmp/],
    ["too much", [file("image/png", `${pixel.slice(0, 64)}${"A".repeat(8_000_000)}`)], /takes 5242880\]$/],
    ["text", [file("text/plain", Buffer.from("plain").toString("base64"))], "plain"],
  ])("are words where they cannot be sent: %s", async (_what, messages, expected) => {
    const parts = await sent("anthropic.messages", messages);
    expect(parts).toHaveLength(1);
    const [part] = parts ?? [];
    expect(part?.type === "text" && part.text).toEqual(
      typeof expected === "string" ? expected : expect.stringMatching(expected),
    );
  });

  it("are left out once a provider has refused a request because of one", async () => {
    const refusal = {
      rejects: new ProviderFault({ kind: "http", status: 400, headers: {}, body: "Could not process image" }),
    };
    const { llm, model } = context([refusal, { parts: [text("a"), finish()] }], { provider: "anthropic.messages" });
    const newMessages = [userImage(`data:image/png;base64,${pixel}`), userText("What is it?")];
    expect((await generate(llm, { newMessages })).outcome.status).toBe("failed");
    expect((await generate(llm, { newMessages })).outcome.status).toBe("completed");
    expect(JSON.stringify(model.calls.map(({ prompt }) => prompt).at(0))).toContain(pixel);
    expect(JSON.stringify(model.calls.map(({ prompt }) => prompt).at(1))).not.toContain(pixel);
  });

  it("are words for a model that sees nothing, in outputs too", async () => {
    const image = `data:image/png;base64,${pixel}`;
    const history = [userText("go"), toolCall({ name: "x", arguments: '{"a":1}', toolCallId: "c" })];
    const { llm, model } = context([{ parts: [text("a"), finish()] }], { vision: false, history });
    const output = toolCallOutput({ output: "seen", toolCallId: "c", images: [image] });
    await generate(llm, { newMessages: [output, userImage(image)] });
    expect(JSON.stringify(model.calls[0]?.prompt)).not.toContain(pixel);
    expect(model.calls[0]?.prompt.at(-2)?.content).toMatchObject([
      { output: { type: "text", value: "seen\n[an image, which this model cannot see]" } },
    ]);
  });

  it("at an address go to who fetches them", async () => {
    const image = [userImage("https://images.example/a.png")];
    expect(await sent("anthropic.messages", image)).toMatchObject([{ type: "file", mediaType: "image/*" }]);
    expect(await sent("google.generative-ai", image)).toMatchObject([
      { type: "text", text: "[an image at https://images.example/a.png, which this model cannot fetch]" },
    ]);
  });
});

describe("what would be refused with every later request", () => {
  it("is not sent: arguments nested without end, failures without words", async () => {
    const deep = `{"a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`;
    const history = [userText("go"), toolCall({ name: "x", arguments: deep, toolCallId: "c" })];
    const { llm, model } = context([{ parts: [text("a"), finish()] }], {
      provider: "anthropic.messages",
      history,
      contextWindow: 200_000,
    });
    const output = toolCallOutput({ output: " ", toolCallId: "c", stopReason: "failed" });
    expect((await generate(llm, { newMessages: [output] })).outcome.status).toBe("completed");
    expect(model.calls[0]?.prompt.slice(-2)).toMatchObject([
      { content: [{ type: "tool-call", input: { invalid_arguments: deep } }] },
      { content: [{ type: "tool-result", output: { type: "error-text", value: "[no output]" } }] },
    ]);
  });
});

describe("calls that start while the answer goes on", () => {
  const call = (id: string, input: string) => ({ type: "tool-call", toolCallId: id, toolName: id, input }) as const;

  it("stay in their order, also when one has no arguments", async () => {
    const parts = [call("a", "{}"), call("b", '{"x":1}'), call("c", "{}"), text("after"), finish("tool-calls")];
    const { llm } = context([{ parts }], { provider: "anthropic.messages" });
    const { messages, outcome } = await generate(llm);
    expect(outcome.status).toBe("completed");
    expect(calls(messages).map(({ id }) => id)).toEqual(["a", "b", "c"]);
    expect(messages.filter(({ payload }) => payload.type === "tool_call" || payload.type === "text")).toHaveLength(4);
  });

  it.each([
    ["without arguments", "{}"],
    ["with half of them", '{"x":'],
  ])("are not trusted %s when the answer was cut behind them", async (_what, input) => {
    const parts = [call("a", '{"x":1}'), call("b", input), finish("length")];
    const { llm } = context([{ parts }], { provider: "anthropic.messages" });
    const { messages, outcome } = await generate(llm);
    expect(outcome.status).toBe("malformed");
    const whole = messages.filter(({ payload }) => payload.type === "tool_call" && payload.stop_reason === undefined);
    expect(whole.map(({ payload }) => payload)).toMatchObject([{ tool_call_id: "a" }]);
  });
});

describe("servers that speak as Anthropic does", () => {
  const start = (message: Record<string, unknown>) =>
    namedEvent({
      type: "message_start",
      message: { id: "m", type: "message", role: "assistant", model: "x", content: [], ...message },
    });
  const end = (fields: Record<string, unknown>) =>
    namedEvent({ type: "message_delta", delta: { stop_reason: "end_turn", stop_sequence: null }, ...fields }) +
    namedEvent({ type: "message_stop" });
  const block = (index: number, content: Record<string, unknown>, deltas: Record<string, unknown>[]) =>
    namedEvent({ type: "content_block_start", index, content_block: content }) +
    deltas.map((delta) => namedEvent({ type: "content_block_delta", index, delta })).join("") +
    namedEvent({ type: "content_block_stop", index });

  async function heard(body: string) {
    const fetch = () => Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
    return generate(await contextFor("anthropic", "http://127.0.0.1:9/v1", { fetch }));
  }

  it("may count nothing", async () => {
    const body = start({}) + block(0, { type: "text", text: "" }, [{ type: "text_delta", text: "Hi." }]) + end({});
    const { messages, outcome } = await heard(body);
    expect([outcome.status, texts(messages)]).toEqual(["completed", ["Hi."]]);
  });

  it("may begin a block with its first words", async () => {
    const usage = { input_tokens: 5, output_tokens: 1 };
    const thinking = { type: "thinking", thinking: "Well", signature: "SIG-" };
    const body =
      start({ usage }) +
      block(0, thinking, [
        { type: "thinking_delta", thinking: "." },
        { type: "signature_delta", signature: "END" },
      ]) +
      block(1, { type: "text", text: "Hel" }, [{ type: "text_delta", text: "lo." }]) +
      end({ usage: { output_tokens: 3 } });
    const { messages } = await heard(body);
    expect(messages.find(({ payload }) => payload.type === "thinking")?.payload).toMatchObject({
      thinking: "Well.",
      fidelity: { anthropic: { signature: "SIG-END" } },
    });
    expect(texts(messages)).toEqual(["Hello."]);
  });

  it("may send kinds of events, blocks and deltas that are not known yet", async () => {
    const usage = { input_tokens: 5, output_tokens: 1 };
    const body =
      start({ usage }) +
      namedEvent({ type: "weather_report", sky: "blue" }) +
      block(0, { type: "poem", lines: [] }, [{ type: "line_delta", line: "x" }]) +
      block(1, { type: "text", text: "" }, [
        { type: "mood_delta", mood: "good" },
        { type: "text_delta", text: "Hi." },
      ]) +
      end({ usage: { output_tokens: 3 } });
    const { messages, outcome } = await heard(body);
    expect([outcome.status, texts(messages)]).toEqual(["completed", ["Hi."]]);
  });

  it("are cut when a block that is known has another shape", async () => {
    const usage = { input_tokens: 5, output_tokens: 1 };
    const body =
      start({ usage }) + block(0, { type: "text", text: "" }, [{ type: "text_delta", text: 7 }]) + end({ usage });
    expect((await heard(body)).outcome.status).toBe("malformed");
  });
});
