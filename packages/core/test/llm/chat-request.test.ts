import { assistantText, toolCall, toolCallOutput, userImage, userText } from "@coxswain/core";
import { afterEach, describe, expect, it } from "vitest";
import { startWireServer, type WireServer } from "@coxswain/testing";
import { createChatCompletionsModel } from "../../src/llm/chat-completions/model.ts";
import { chatContext, chatSettings, delta, generate, sse, texts, wire } from "./support/generate.ts";

let server: WireServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function serve(...bodies: (string | Buffer)[]): Promise<string> {
  server = await startWireServer({ exchanges: bodies.map((body) => ({ body })) });
  return server.url;
}

function bodyOf(index: number): Record<string, unknown> & { messages: unknown[] } {
  return server?.requests[index]?.body as Record<string, unknown> & { messages: unknown[] };
}

const pixel = "data:image/png;base64,iVBORw0KGgo=";

describe("a chat completions request", () => {
  it("has the model, the stream options, the key, the tools and the limits", async () => {
    const llm = chatContext(await serve(await wire("good-answer")), { maxOutputTokens: 500 });
    await generate(llm, { tools: [{ name: "list_items", description: "Lists." }], thinkingLevel: "low" });
    expect(server?.requests[0]).toMatchObject({
      method: "POST",
      path: "/chat/completions",
      headers: { authorization: "Bearer test-key-0123456789", "content-type": "application/json" },
      body: {
        model: "test-model",
        stream: true,
        stream_options: { include_usage: true },
        max_tokens: 500,
        reasoning_effort: "low",
        messages: [
          { role: "system", content: "Be brief." },
          { role: "user", content: "hi" },
        ],
        tools: [
          {
            type: "function",
            function: { name: "list_items", description: "Lists.", parameters: { type: "object", properties: {} } },
          },
        ],
      },
    });
  });

  it("says without a key, a limit or tools nothing of them", async () => {
    const settings = { ...chatSettings(await serve(await wire("good-answer"))), apiKey: undefined };
    await generate(chatContext("", { model: createChatCompletionsModel({ settings }) }));
    expect(Object.keys(bodyOf(0)).sort()).toEqual(["messages", "model", "stream", "stream_options"]);
    expect(server?.requests[0]?.headers).not.toHaveProperty("authorization");
  });

  it("has images beside the user's text, and those of tools in a message after the outputs", async () => {
    const llm = chatContext(await serve(await wire("good-answer")), {
      history: [userText("go"), toolCall({ name: "look", arguments: "", toolCallId: "a" })],
    });
    await generate(llm, {
      newMessages: [
        toolCallOutput({ output: "seen", toolCallId: "a", images: [pixel] }),
        userText("and this?"),
        userImage(pixel),
        userImage("https://example.com/i.png"),
      ],
    });
    const image = { type: "image_url", image_url: { url: pixel } };
    expect(bodyOf(0).messages.slice(3)).toEqual([
      { role: "tool", tool_call_id: "a", content: "seen" },
      { role: "user", content: [{ type: "text", text: "Images in the output of a:" }, image] },
      {
        role: "user",
        content: [
          { type: "text", text: "and this?" },
          image,
          { type: "image_url", image_url: { url: "https://example.com/i.png" } },
        ],
      },
    ]);
  });

  it("tells a model without sight that there was an image", async () => {
    const llm = chatContext(await serve(await wire("good-answer")), { vision: false });
    await generate(llm, { newMessages: [userImage(pixel)] });
    expect(bodyOf(0).messages[1]).toEqual({ role: "user", content: "[an image, which this model cannot see]" });
  });

  it("sends arguments as the model wrote them, and a call that was cut not at all", async () => {
    const written = '{ "n": 12345678901234567890 }';
    const llm = chatContext(await serve(await wire("good-answer")), {
      history: [
        userText("go"),
        assistantText("both"),
        toolCall({ name: "x", arguments: written, toolCallId: "a" }),
        toolCall({ name: "x", arguments: '{"', toolCallId: "b", stopReason: "timeout" }),
      ],
    });
    await generate(llm, { newMessages: [toolCallOutput({ output: "o", toolCallId: "a" })] });
    expect(bodyOf(0).messages[2]).toEqual({
      role: "assistant",
      content: "both",
      tool_calls: [{ id: "a", type: "function", function: { name: "x", arguments: written } }],
    });
  });

  it.each([
    [{ reasoning_content: "hm" }, { reasoning_content: "hm" }],
    [{ reasoning: "hm" }, { reasoning: "hm" }],
    [
      { reasoning: "hm", reasoning_details: [{ type: "reasoning.text", index: 0, text: "hm", signature: "S" }] },
      { reasoning: "hm", reasoning_details: [{ type: "reasoning.text", index: 0, text: "hm", signature: "S" }] },
    ],
    [
      { reasoning_details: [{ type: "reasoning.encrypted", index: 0, data: "E" }] },
      { reasoning_details: [{ type: "reasoning.encrypted", index: 0, data: "E" }] },
    ],
  ])("sends reasoning back in the field it came in: %j", async (said, expected) => {
    const body = sse([delta(said), delta({ content: "done" }, "stop")]);
    const llm = chatContext(await serve(body, body));
    const { messages } = await generate(llm);
    expect(texts(messages)).toEqual(["done"]);
    await generate(llm);
    expect(bodyOf(1).messages[2]).toEqual({ role: "assistant", content: "done", ...expected });
  });

  it("joins the pieces of reasoning details", async () => {
    const piece = (fields: Record<string, unknown>) =>
      delta({ reasoning_details: [{ type: "reasoning.text", index: 0, ...fields }] });
    const body = sse([
      piece({ text: "a" }),
      piece({ text: "b" }),
      piece({ signature: "S" }),
      delta({ content: "x" }, "stop"),
    ]);
    const llm = chatContext(await serve(body, body));
    await generate(llm);
    await generate(llm);
    expect(bodyOf(1).messages[2]).toMatchObject({
      reasoning_details: [{ type: "reasoning.text", index: 0, text: "ab", signature: "S" }],
    });
  });

  it("keeps the parameter that the official server wants to that server", async () => {
    const bodies: string[] = [];
    const fetch = async (_url: unknown, init?: { body?: unknown }) => {
      bodies.push(String(init?.body));
      return new Response(sse([delta({ content: "x" }, "stop")]));
    };
    const settings = chatSettings("https://api.openai.com/v1");
    await generate(chatContext("", { model: createChatCompletionsModel({ settings, fetch }), maxOutputTokens: 9 }));
    expect(JSON.parse(bodies[0] ?? "")).toMatchObject({ max_completion_tokens: 9 });
  });
});

describe("the chat completions model by itself", () => {
  it("is an ordinary stream of parts, and can be asked for a whole answer", async () => {
    const url = await serve(await wire("interleaved-fragments"), await wire("good-answer"));
    const model = createChatCompletionsModel({ settings: chatSettings(url) });
    const prompt = [{ role: "user" as const, content: [{ type: "text" as const, text: "hi" }] }];
    const types: string[] = [];
    for await (const part of (await model.doStream({ prompt })).stream) types.push(part.type);
    expect(types.slice(0, 3)).toEqual(["response-metadata", "tool-input-start", "tool-input-start"]);
    expect(types.slice(-3)).toEqual(["tool-input-end", "tool-call", "finish"]);
    const whole = await model.doGenerate({ prompt });
    expect(whole).toMatchObject({
      content: [{ type: "text", text: "All finished." }],
      finishReason: { unified: "stop" },
      usage: { inputTokens: { total: 20 } },
    });
  });
});
