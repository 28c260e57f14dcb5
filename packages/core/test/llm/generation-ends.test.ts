import { type OmniMessage, userText } from "@coxswain/core";
import { type ScriptedModelStep } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { generate, texts, undisciplined } from "./support/generate.ts";
import { limits, finish, text, never, context, settle } from "./support/scripted-context.ts";

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
