import type { LanguageModelV3StreamPart } from "@ai-sdk/provider";
import { toolCall, toolCallOutput, userText } from "@coxswain/core";
import { type ScriptedModelStep } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { calls, complete, generate, texts, undisciplined } from "./support/generate.ts";
import { usage, finish, text, never, context, settle } from "./support/scripted-context.ts";

describe("calls", () => {
  const parts = (id: string): LanguageModelV3StreamPart[] => [
    { type: "tool-input-start", id, toolName: "x" },
    { type: "tool-input-delta", id, delta: '{"p"' },
    { type: "tool-input-delta", id, delta: ":1}" },
    { type: "tool-call", toolCallId: id, toolName: "x", input: '{"p":1}' },
  ];

  it("are complete at once, unless the protocol is a chat", async () => {
    for (const [provider, expected] of [
      ["scripted.messages", true],
      ["scripted.chat", false],
    ] as const) {
      const { llm } = context([{ parts: [...parts("a"), never] }], { provider });
      const seen: (string | undefined)[] = [];
      const stream = llm.streamGenerate({ newMessages: [userText("hi")] });
      void (async () => {
        for await (const message of stream) seen.push(message.payload.type);
      })();
      await settle();
      expect(seen.includes("tool_call")).toBe(expected);
      await stream.return({ status: "aborted" });
    }
  });

  it("of a chat that its output limit cut are not complete, whatever the provider package says", async () => {
    const { llm } = context([{ parts: [...parts("a"), finish("length")] }], { provider: "scripted.chat" });
    const { messages, outcome } = await generate(llm);
    expect(outcome.status).toBe("malformed");
    expect(complete(messages)).toMatchObject([{ type: "tool_call", stop_reason: "malformed" }]);
  });

  it("without fragments get them", async () => {
    const { messages } = await generate(
      context([
        { parts: [{ type: "tool-call", toolCallId: "a", toolName: "x", input: '{"p":1}' }, finish("tool-calls")] },
      ]).llm,
    );
    expect(calls(messages)).toEqual([{ id: "a", name: "x", arguments: '{"p":1}' }]);
    expect(undisciplined(messages)).toEqual([]);
  });

  it("come after the words before them, although those are told to end later", async () => {
    const words: LanguageModelV3StreamPart[] = [{ type: "reasoning-delta", id: "r", delta: "hm" }, text("so")];
    const ends: LanguageModelV3StreamPart[] = [
      { type: "text-end", id: "0" },
      { type: "reasoning-end", id: "r" },
    ];
    const { llm } = context([{ parts: [...words, ...parts("a"), ...ends, finish("tool-calls")] }]);
    const { messages, outcome } = await generate(llm);
    expect(outcome.status).toBe("completed");
    expect(
      complete(messages)
        .map(({ type }) => type)
        .toSorted(),
    ).toEqual(["text", "thinking", "tool_call"]);
    expect(complete(messages).at(-1)?.type).toBe("tool_call");
  });

  it("without an id get one", async () => {
    const { messages } = await generate(context([{ parts: [...parts(""), ...parts(""), finish("tool-calls")] }]).llm);
    expect(calls(messages).map((call) => call.id)).toEqual(["call_1", "call_2"]);
  });

  it("go on being numbered after a failed attempt and in a context made from history", async () => {
    const { llm } = context([{ parts: parts("a") }, { parts: [...parts("a"), finish("tool-calls")] }]);
    await generate(llm);
    const second = await generate(llm);
    expect(calls(second.messages).map((call) => call.id)).toEqual(["a~2"]);
    const history = [userText("hi"), ...second.messages, toolCallOutput({ output: "o", toolCallId: "a~2" })];
    const resumed = context([{ parts: [...parts("a"), finish("tool-calls")] }], { history });
    const third = await generate(resumed.llm, { newMessages: [] });
    expect(calls(third.messages).map((call) => call.id)).toEqual(["a~3"]);
    expect(resumed.model.calls[0]?.prompt.slice(1)).toMatchObject([
      { role: "assistant", content: [{ type: "tool-call", toolCallId: "a", input: { p: 1 } }] },
      { role: "tool", content: [{ toolCallId: "a", toolName: "x" }] },
    ]);
  });
});

describe("what goes out", () => {
  it("metadata of a part comes back with it, and pieces of a signature are joined", async () => {
    const signed = (signature: string) => ({ anthropic: { signature } });
    const { llm, model } = context([
      {
        parts: [
          { type: "reasoning-start", id: "r" },
          { type: "reasoning-delta", id: "r", delta: "think  \n" },
          { type: "reasoning-delta", id: "r", delta: "", providerMetadata: signed("SIG-a") },
          { type: "reasoning-delta", id: "r", delta: "", providerMetadata: signed("+b==") },
          { type: "reasoning-end", id: "r" },
          { type: "reasoning-start", id: "s", providerMetadata: { anthropic: { redactedData: "OPAQUE" } } },
          { type: "reasoning-end", id: "s" },
          text("a"),
          finish(),
        ],
      },
      { parts: [text("b"), finish()] },
    ]);
    const { messages } = await generate(llm);
    expect(undisciplined(messages)).toEqual([]);
    await generate(llm, { newMessages: [userText("on")] });
    expect(model.calls[1]?.prompt[1]).toEqual({
      role: "assistant",
      content: [
        { type: "reasoning", text: "think  \n", providerOptions: signed("SIG-a+b==") },
        { type: "reasoning", text: "", providerOptions: { anthropic: { redactedData: "OPAQUE" } } },
        { type: "text", text: "a" },
      ],
    });
  });

  it("no half of a surrogate pair is sent or shown", async () => {
    const lone = "x\ud83d";
    const step: ScriptedModelStep = {
      parts: [
        text(lone),
        { type: "tool-call", toolCallId: lone, toolName: lone, input: `{"p":"${lone}"}` },
        finish("tool-calls"),
      ],
    };
    const { llm, model } = context([step, { parts: [text("b"), finish()] }], { systemPrompt: lone });
    const { messages } = await generate(llm, {
      newMessages: [userText(lone)],
      tools: [{ name: lone, description: lone }],
    });
    await generate(llm, {
      newMessages: [toolCallOutput({ output: lone, toolCallId: "x\ufffd" }), userText(lone)],
    });
    const sentOut = JSON.stringify([messages, model.calls.map(({ prompt, tools }) => [prompt, tools])]);
    expect(sentOut).not.toMatch(/\\u[dD][89a-f]/);
    expect(texts(messages)).toEqual(["x\ufffd"]);
  });

  it("arguments with an escaped half of a pair are sent without it", async () => {
    const history = [userText("hi"), toolCall({ name: "x", arguments: '{"p":"\\ud83d!"}', toolCallId: "a" })];
    const { llm, model } = context([{ parts: [text("b"), finish()] }], { history });
    await generate(llm, { newMessages: [toolCallOutput({ output: "o", toolCallId: "a" })] });
    expect(JSON.stringify(model.calls[0]?.prompt)).not.toContain("ud83d");
  });

  it("each request begins with what the last one sent and got", async () => {
    const steps: ScriptedModelStep[] = Array.from({ length: 4 }, (_, index) => ({
      parts: [text(`t${index}`), finish()],
    }));
    const { llm, model } = context(steps, { systemPrompt: "s" });
    for (let turn = 0; turn < 4; turn += 1)
      await generate(llm, { newMessages: [userText(`u${turn}`), userText("more")] });
    for (let turn = 1; turn < 4; turn += 1) {
      const before = model.calls[turn - 1]?.prompt ?? [];
      const now = model.calls[turn]?.prompt ?? [];
      for (const [index, message] of before.entries()) expect(now[index]).toBe(message);
      expect(now).toHaveLength(before.length + 3);
    }
  });

  it("max_tokens leaves room for the input in the window", async () => {
    const { llm, model } = context(
      [
        {
          parts: [
            text("a"),
            { ...finish(), usage: { ...usage, inputTokens: { ...usage.inputTokens, total: 25_000, noCache: 25_000 } } },
          ],
        },
        { parts: [text("b"), finish()] },
      ],
      { maxOutputTokens: 32_000, contextWindow: 32_768 },
    );
    await generate(llm);
    await generate(llm, { newMessages: [userText("x".repeat(3_000))] });
    expect(model.calls[0]?.maxOutputTokens).toBe(32_000);
    const second = model.calls[1]?.maxOutputTokens ?? 0;
    expect(second).toBeLessThanOrEqual(32_768 * 0.98 - 25_002 - 1_000);
    expect(second).toBeGreaterThan(5_000);
  });

  it("a thinking level is told in the words of the provider", async () => {
    for (const [provider, expected] of [
      ["local.chat", { local: { reasoningEffort: "high" } }],
      [
        "anthropic.messages",
        { anthropic: { thinking: { type: "enabled", budgetTokens: 4_096 }, toolStreaming: false } },
      ],
    ] as const) {
      const { llm, model } = context([{ parts: [text("a"), finish()] }], { provider });
      await generate(llm, { thinkingLevel: "high" });
      expect(model.calls[0]?.providerOptions).toEqual(expected);
    }
  });

  it("a summary stays out of history", async () => {
    const { llm, model } = context([{ parts: [text("s"), finish()] }, { parts: [text("b"), finish()] }]);
    const tools = [{ name: "x", description: "" }];
    const { messages } = await generate(llm, { purpose: "summary", newMessages: [userText("sum up")], tools });
    expect(complete(messages)).toHaveLength(1);
    await generate(llm, { tools });
    expect([model.calls[0]?.toolChoice, model.calls[1]?.prompt.length]).toEqual([{ type: "none" }, 1]);
  });
});
