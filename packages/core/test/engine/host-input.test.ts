import { getEventListeners } from "node:events";
import {
  type CompactionSettings,
  ContextEngine,
  type ContextEngineOptions,
  isPayload,
  type OmniMessage,
  type RunOptions,
  UsageError,
  userText,
} from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { ask, type Bench, collect, expectSound, meta, outline, sent, setUp } from "./support.ts";

/** What a host without types may hand over. */
function untyped<T>(value: unknown): T {
  return value as T;
}

function withPayload(fields: object): unknown {
  const message = userText("q");
  return { ...message, payload: { ...message.payload, ...fields } };
}

function circular(): object {
  const value: { itself?: object } = {};
  value.itself = value;
  return value;
}

/** That nothing has begun, and that the next run is like any other. */
async function expectUntouched(bench: Bench): Promise<void> {
  expect(bench.engine.activity).toBe("idle");
  expect(bench.engine.steer("to nobody")).toBe(false);
  expect(bench.trace.records).toEqual([meta]);
  const stream = await collect(bench.engine.run(ask("go")));
  expect(outline(stream).at(-1)).toBe("request_end completed");
  expect(sent(bench.llm.requests[0]?.newMessages ?? [])).toMatchObject([{ text: "go" }]);
  expectSound(bench, stream);
}

describe("the options of a run", () => {
  it.each([
    ["a controller", { signal: new AbortController() }, /signal must be an AbortSignal.*signal: controller\.signal/],
    ["a word as the signal", { signal: "now" }, /AbortSignal, not "now"/],
    ["an answer in place of the approver", { approve: "allow" }, /approve must be a function.*not "allow"/],
    ["an unknown level", { thinkingLevel: "enormous" }, /thinkingLevel must be one of .*not "enormous"/],
    ["no object", 7, /must be an object.*not 7/],
  ])("that are wrong (%s) are refused at the call, and nothing has begun", async (_, options, words) => {
    const bench = setUp([{ text: "a" }]);
    expect(() => bench.engine.run(ask("lost"), untyped<RunOptions>(options))).toThrow(words);
    await expectUntouched(bench);
  });

  it.each([
    ["null", null],
    ["fields that are null", { signal: null, approve: null, thinkingLevel: null }],
  ])("may be %s, which is nothing", async (_, options) => {
    const bench = setUp([{ text: "a" }]);
    const stream = await collect(bench.engine.run(ask("go"), untyped<RunOptions>(options)));
    expect(outline(stream).at(-1)).toBe("request_end completed");
    expect(await collect(bench.engine.compact(untyped<RunOptions>(options)))).toEqual([]);
  });

  it("are of a run as they were at its call", async () => {
    const bench = setUp([{ text: "a" }]);
    const options: RunOptions = {};
    const run = bench.engine.run(ask("go"), options);
    options.signal = AbortSignal.abort();
    expect(outline(await collect(run)).at(-1)).toBe("request_end completed");
  });
});

describe("a signal that stops many runs at once", () => {
  it("has one listener, and none once they are over", async () => {
    const controller = new AbortController();
    const { signal } = controller;
    const benches = Array.from({ length: 20 }, () => setUp([{ hold: new Promise(() => undefined) }, { text: "b" }]));
    const runs = benches.map((bench) => collect(bench.engine.run(ask("go"), { signal })));
    const brief = setUp([{ text: "a" }]);
    await collect(brief.engine.run(ask("go"), { signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    controller.abort();
    for (const stream of await Promise.all(runs)) expect(outline(stream).at(-1)).toBe("abort");
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  it("is let go of by the last run that ends without it", async () => {
    const { signal } = new AbortController();
    const benches = Array.from({ length: 3 }, () => setUp([{ text: "a" }, { text: "b" }]));
    for (const _ of ["first", "second"]) {
      await Promise.all(benches.map((bench) => collect(bench.engine.run(ask("go"), { signal }))));
      expect(getEventListeners(signal, "abort")).toHaveLength(0);
    }
  });
});

describe("what is said to a running Task", () => {
  it.each([[undefined], [null], [{}], [123], [["a"]], [Symbol("s")]])(
    "is a text: %s is refused at once, and the others are delivered",
    async (wrong) => {
      const bench = setUp([{ text: "a" }, { text: "b" }]);
      const stream: OmniMessage[] = [];
      for await (const message of bench.engine.run(ask("go"))) {
        stream.push(message);
        if (!isPayload(message, "text") || message.payload.text !== "a") continue;
        expect(bench.engine.steer("before")).toBe(true);
        expect(() => bench.engine.steer(untyped<string>(wrong))).toThrow(TypeError);
        expect(bench.engine.steer("after")).toBe(true);
      }
      expect(sent(bench.llm.requests[1]?.newMessages ?? [])).toMatchObject([
        { text: "[user_steering]before[/user_steering]" },
        { text: "[user_steering]after[/user_steering]" },
      ]);
      expect(() => bench.engine.steer(untyped<string>(wrong))).toThrow(/steer takes a text, not/);
      expectSound(bench, stream);
    },
  );
});

describe("the input of a run", () => {
  it.each([
    ["a text without its text", userText(untyped<string>(undefined)), /newMessages\[1\].*payload\.text is missing/],
    ["a number as text", userText(untyped<string>(5)), /newMessages\[1\].*payload\.text must be a string, but is 5/],
    ["an empty object", {}, /newMessages\[1\] is no message: type is missing/],
    ["null", null, /newMessages\[1\] is no message.*is null/],
    ["a text without an envelope", "hello", /newMessages\[1\] is no message.*"hello"/],
    ["a time that is none", { ...userText("q"), timestamp: "" }, /newMessages\[1\].*timestamp/],
    ["an image without its address", withPayload({ type: "image_url" }), /newMessages\[1\].*payload\.image_url/],
    ["a big number", withPayload({ extra: 1n }), /newMessages\[1\]\.payload\.extra cannot be written as JSON.*BigInt/],
    ["a circle", withPayload({ extra: circular() }), /newMessages\[1\]\.payload\.extra cannot be written as JSON/],
    ["a big number beside the payload", { ...userText("q"), id: [1n] }, /newMessages\[1\]\.id cannot be written/],
    ["an answer", withPayload({ role: "assistant" }), /newMessages\[1\] is a text/],
    ["a message of a child", { ...userText("q"), origin: ["child"] }, /newMessages\[1\] is a text/],
  ])("that is wrong (%s) is refused by its index and field, and nothing is written", async (_, wrong, words) => {
    const bench = setUp([{ text: "a" }]);
    const run = bench.engine.run([userText("fine"), untyped<OmniMessage>(wrong)]);
    const refused = await collect(run).catch((error: unknown) => error);
    expect(refused).toBeInstanceOf(UsageError);
    expect(refused).toMatchObject({ message: expect.stringMatching(words) });
    await expectUntouched(bench);
  });

  it("may not be anything but a list", async () => {
    const bench = setUp([{ text: "a" }]);
    await expect(collect(bench.engine.run(untyped<OmniMessage[]>("hello")))).rejects.toThrow(
      /array of messages, not "hello"/,
    );
    await expectUntouched(bench);
  });

  it("may hold fields that nobody knows yet", async () => {
    const bench = setUp([{ text: "a" }]);
    const message = untyped<OmniMessage>(withPayload({ extra: { nested: [1, null] } }));
    await collect(bench.engine.run([message]));
    expect(bench.llm.requests[0]?.newMessages).toEqual([message]);
  });
});

describe("the settings of an engine", () => {
  const settings: CompactionSettings = {
    maxContextLength: 100,
    maxSessionTurns: -1,
    mode: "summarize",
    prompt: "Summarize.",
  };

  it.each([
    [{ compaction: { ...settings, mode: "weird" } }, RangeError, /compaction\.mode must be one of .*not "weird"/],
    [{ compaction: { ...settings, prompt: undefined } }, TypeError, /compaction\.prompt must be the text.*undefined/],
    [
      { compaction: { ...settings, maxContextLength: "100" } },
      TypeError,
      /maxContextLength must be a number, not "100"/,
    ],
    [{ compaction: { ...settings, maxSessionTurns: Number.NaN } }, RangeError, /maxSessionTurns must be a number/],
    [{ maxTurns: Number.NaN }, RangeError, /maxTurns must be a number/],
    [{ reconnectBackoffMs: "1s" }, TypeError, /reconnectBackoffMs must be a number, not "1s"/],
  ])("are refused when they are none: %o", (wrong, kind, words) => {
    const { llm, environment } = setUp([]);
    const options = untyped<Partial<ContextEngineOptions>>(wrong);
    const make = (): ContextEngine => new ContextEngine({ llm, environment, ...options });
    expect(make).toThrow(kind);
    expect(make).toThrow(words);
  });
});
