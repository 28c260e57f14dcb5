import type { LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import { type OmniMessage, toolCall, toolCallOutput, userText } from "@coxswain/core";
import { setImmediate as nextLoop } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { ManualClock } from "../../../testing/src/manual-clock.ts";
import { scriptedLanguageModel, type ScriptedModelStep } from "../../../testing/src/scripted-language-model.ts";
import { GenerativeModel, type GenerativeModelOptions } from "../../src/llm/generative-model.ts";
import { calls, complete, generate, texts, undisciplined } from "./support/generate.ts";

const limits = { totalMs: 10_000, firstContentMs: 3_000, idleMs: 1_000 };

const usage: LanguageModelV3Usage = {
  inputTokens: { total: 10, noCache: 10, cacheRead: 0, cacheWrite: 0 },
  outputTokens: { total: 2, text: 2, reasoning: 0 },
};
const finish = (unified: "stop" | "tool-calls" | "length" | "other" | "error" = "stop", raw?: string) =>
  ({ type: "finish", finishReason: { unified, raw }, usage }) satisfies LanguageModelV3StreamPart;
const text = (delta: string, id = "0"): LanguageModelV3StreamPart => ({ type: "text-delta", id, delta });
const never = new Promise<never>(() => undefined);

function context(
  steps: readonly ScriptedModelStep[],
  options: Partial<GenerativeModelOptions> & { provider?: string } = {},
) {
  const model = scriptedLanguageModel(steps, { provider: options.provider });
  const clock = new ManualClock();
  return { model, clock, llm: new GenerativeModel({ model, systemPrompt: "", limits, clock, ...options }) };
}

/** Lets everything that is ready happen. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn += 1) await nextLoop();
}

describe("time limits", () => {
  const startThenSilence: ScriptedModelStep = { parts: [{ type: "text-start", id: "0" }, never] };

  it.each([
    ["a model that does not answer", { deaf: true } as const],
    ["a head without content", startThenSilence],
    ["keep-alives", { parts: [{ type: "raw", rawValue: 1 }, text(""), never] } as ScriptedModelStep],
  ])("%s is timeout at the first-content limit", async (_name, step) => {
    const { llm, clock } = context([step]);
    const generated = generate(llm);
    await settle();
    clock.advance(limits.firstContentMs - 1);
    await settle();
    expect(clock.sleeping).toHaveLength(1);
    clock.advance(1);
    const { outcome } = await generated;
    expect(outcome.status).toBe("timeout");
    expect(outcome.errorMessage).toContain("3 s (first-content limit)");
    expect(clock.sleeping).toEqual([]);
  });

  it("after content the idle limit holds, and closes what is open", async () => {
    const { llm, clock, model } = context([{ parts: [text("half"), never] }]);
    const generated = generate(llm);
    await settle();
    clock.advance(limits.idleMs);
    const { messages, outcome } = await generated;
    expect(outcome.errorMessage).toContain("1 s (idle limit)");
    expect(messages.at(-1)?.payload).toMatchObject({ text: "half", stop_reason: "timeout" });
    expect(undisciplined(messages)).toEqual([]);
    await settle();
    expect([model.cancelled, clock.sleeping]).toEqual([1, []]);
  });

  it("a reader that pauses is no silence of the model", async () => {
    const { llm, clock } = context([{ parts: [text("a"), text("b"), finish()] }]);
    const stream = llm.streamGenerate({ newMessages: [userText("hi")] });
    await stream.next();
    await stream.next();
    await settle();
    clock.advance(5 * limits.idleMs);
    await settle();
    const types: (string | undefined)[] = [];
    for await (const message of stream) types.push(message.payload.type);
    expect(types.at(-1)).toBe("token_usage");
  });

  it("content does not feed the total limit", async () => {
    const { llm, clock } = context([{ parts: [text("x"), text("y"), never] }], { limits: { ...limits, totalMs: 900 } });
    const generated = generate(llm);
    await settle();
    clock.advance(900);
    expect((await generated).outcome.errorMessage).toContain("total limit");
  });

  it("a clock that stands still does not spin", async () => {
    const clock = { now: () => 0, sleep: async () => undefined };
    const { llm } = context([{ parts: [text("a"), finish()] }], { clock });
    expect((await generate(llm)).outcome.status).toBe("completed");
  });
});

describe("the signal", () => {
  it.each([
    ["while it does not answer", { deaf: true } as const],
    ["while it streams", { parts: [text("half")], end: "deaf" } as ScriptedModelStep],
  ])("ends a deaf model at once %s, and history is as before", async (_name, step) => {
    const { llm, model, clock } = context([step, { parts: [text("next"), finish()] }]);
    const controller = new AbortController();
    const generated = generate(llm, { signal: controller.signal });
    await settle();
    controller.abort();
    const { messages, outcome } = await generated;
    expect(outcome.status).toBe("aborted");
    expect(undisciplined(messages)).toEqual([]);
    expect([model.calls[0]?.abortSignal?.aborted, clock.sleeping]).toEqual([true, []]);
    expect(texts((await generate(llm)).messages)).toEqual(["next"]);
    expect(model.calls[1]?.prompt).toEqual(model.calls[0]?.prompt);
  });

  it("that has fired before sends nothing", async () => {
    const { llm, model } = context([{ parts: [finish()] }]);
    const { outcome } = await generate(llm, { signal: AbortSignal.abort() });
    expect([outcome.status, model.calls.length]).toEqual(["aborted", 0]);
  });

  it("after the good end, before token_usage is taken, undoes the commit", async () => {
    const { llm, model } = context([{ parts: [text("a"), finish()] }, { parts: [text("b"), finish()] }]);
    const controller = new AbortController();
    const stream = llm.streamGenerate({ newMessages: [userText("hi")], signal: controller.signal });
    const taken: OmniMessage[] = [];
    for (;;) {
      const { done, value } = await stream.next();
      if (done === true) {
        expect(value).toMatchObject({ status: "aborted", usage: { total: 12 } });
        break;
      }
      taken.push(value);
      if (value.payload.type === "text") controller.abort();
    }
    expect(taken.map((message) => message.payload.type)).not.toContain("token_usage");
    await generate(llm, { newMessages: [userText("again")] });
    expect(model.calls[1]?.prompt).toHaveLength(1);
  });

  it("after token_usage changes nothing", async () => {
    const { llm, model } = context([{ parts: [text("a"), finish()] }, { parts: [text("b"), finish()] }]);
    const controller = new AbortController();
    const stream = llm.streamGenerate({ newMessages: [userText("hi")], signal: controller.signal });
    for (;;) {
      const { done, value } = await stream.next();
      if (done === true) {
        expect(value.status).toBe("completed");
        break;
      }
      if (value.payload.type === "token_usage") controller.abort();
    }
    await generate(llm, { newMessages: [userText("again")] });
    expect(model.calls[1]?.prompt).toHaveLength(3);
  });

  it("a reader that leaves stops the model", async () => {
    const { llm, model, clock } = context([{ parts: [text("a"), text("b")], end: "deaf" }]);
    for await (const message of llm.streamGenerate({ newMessages: [userText("hi")] })) {
      if (message.payload.type === "partial_text") break;
    }
    await settle();
    expect([model.calls[0]?.abortSignal?.aborted, clock.sleeping]).toEqual([true, []]);
  });
});

describe("models that misbehave", () => {
  const boom = new Error("boom");
  it.each<[string, ScriptedModelStep, string]>([
    ["throws", { throws: boom }, "failed"],
    ["rejects", { rejects: boom }, "failed"],
    ["rejects with nothing", { rejects: undefined }, "malformed"],
    ["errors its stream", { parts: [text("a")], end: { error: boom } }, "failed"],
    ["closes without a finish", { parts: [text("a")] }, "malformed"],
    ["finishes without a reason", { parts: [text("a"), finish("other")] }, "malformed"],
    ["finishes with an error", { parts: [text("a"), finish("error", "MALFORMED_FUNCTION_CALL")] }, "malformed"],
    [
      "reports an error and goes on",
      { parts: [{ type: "error", error: { type: "overloaded_error" } }, text("a"), finish()] },
      "timeout",
    ],
    [
      "leaves a call open",
      { parts: [{ type: "tool-input-start", id: "c", toolName: "x" }, finish("tool-calls")] },
      "malformed",
    ],
    ["sends unknown parts", { parts: [{ type: "no-such-part" } as never, text("a"), finish()] }, "completed"],
    [
      "sends deltas without a start",
      { parts: [text("a"), { type: "tool-input-delta", id: "z", delta: "{" }, finish()] },
      "completed",
    ],
  ])("one that %s", async (_name, step, status) => {
    const { messages, outcome } = await generate(context([step]).llm);
    expect(outcome.status).toBe(status);
    expect(undisciplined(messages)).toEqual([]);
  });
});

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
            { ...finish(), usage: { ...usage, inputTokens: { ...usage.inputTokens, noCache: 25_000 } } },
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
      ["anthropic.messages", { anthropic: { thinking: { type: "enabled", budgetTokens: 16_384 } } }],
    ] as const) {
      const { llm, model } = context([{ parts: [text("a"), finish()] }], { provider });
      await generate(llm, { thinkingLevel: "high" });
      expect(model.calls[0]?.providerOptions).toEqual(expected);
    }
  });

  it("a summary stays out of history", async () => {
    const { llm, model } = context([{ parts: [text("s"), finish()] }, { parts: [text("b"), finish()] }]);
    const { messages } = await generate(llm, { purpose: "summary", newMessages: [userText("sum up")] });
    expect(complete(messages)).toHaveLength(1);
    await generate(llm);
    expect([model.calls[0]?.toolChoice, model.calls[1]?.prompt.length]).toEqual([{ type: "none" }, 1]);
  });
});
