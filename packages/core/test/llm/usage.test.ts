import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  createAgent,
  createLanguageModel,
  isPayload,
  type OmniMessage,
  projectPaths,
  type TokenCounts,
  userText,
} from "@coxswain/core";
import { startWireServer } from "@coxswain/testing";
import { afterEach, describe, expect, it } from "vitest";
import { playTraces } from "../../../testing/test/every-trace.ts";
import { delta, sse } from "./support/generate.ts";
import { answer, answerBody, event, namedEvent, protocols, settingsFor, type WireProtocol } from "./support/streams.ts";
import { answered, chat, countsOf, record } from "./support/usage.ts";

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

const nothing = record(0, 0, 0, 0);

function responses(usage: unknown): string {
  const item = { id: "msg_1", type: "message", role: "assistant", status: "completed", content: [] };
  const response = { id: "resp_1", object: "response", created_at: 1, model: "m", output: [] };
  return [
    namedEvent({ type: "response.created", response }),
    namedEvent({ type: "response.output_item.added", output_index: 0, item }),
    namedEvent({
      type: "response.output_text.delta",
      item_id: "msg_1",
      output_index: 0,
      content_index: 0,
      delta: "hi",
    }),
    namedEvent({ type: "response.output_item.done", output_index: 0, item }),
    namedEvent({ type: "response.completed", response: { ...response, usage } }),
  ].join("");
}

function anthropic(first: unknown, last: unknown): string {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "m", content: [], usage: first };
  return [
    namedEvent({ type: "message_start", message }),
    namedEvent({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    namedEvent({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } }),
    namedEvent({ type: "content_block_stop", index: 0 }),
    namedEvent({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: last }),
    namedEvent({ type: "message_stop" }),
  ].join("");
}

const gemini = (usageMetadata: unknown): string =>
  event({ candidates: [{ content: { parts: [{ text: "hi" }], role: "model" }, finishReason: "STOP" }], usageMetadata });

describe("the same tokens", () => {
  const told: [string, WireProtocol, string][] = [
    [
      "chat completions, which count cached ones into the prompt",
      "openai-chat",
      chat({ prompt_tokens: 100, completion_tokens: 10, prompt_tokens_details: { cached_tokens: 75 } }),
    ],
    [
      "responses, likewise",
      "openai-responses",
      responses({ input_tokens: 100, input_tokens_details: { cached_tokens: 75 }, output_tokens: 10 }),
    ],
    [
      "Anthropic, which counts them apart",
      "anthropic",
      anthropic({ input_tokens: 25, cache_read_input_tokens: 75, output_tokens: 1 }, { output_tokens: 10 }),
    ],
    [
      "Gemini, which counts thoughts beside the answer",
      "gemini",
      gemini({ promptTokenCount: 100, cachedContentTokenCount: 75, candidatesTokenCount: 6, thoughtsTokenCount: 4 }),
    ],
  ];
  it.each(told)("are one record when told by %s", async (_who, protocol, body) => {
    expect(await countsOf(protocol, body)).toEqual(record(25, 75, 0, 10));
  });

  it.each([
    [
      "anthropic",
      anthropic(
        { input_tokens: 20, cache_creation_input_tokens: 5, cache_read_input_tokens: 75, output_tokens: 1 },
        { output_tokens: 10 },
      ),
    ],
    [
      "openai-chat",
      chat({
        prompt_tokens: 100,
        completion_tokens: 10,
        prompt_tokens_details: { cached_tokens: 75, cache_write_tokens: 5 },
      }),
    ],
    [
      "openai-responses",
      responses({
        input_tokens: 100,
        input_tokens_details: { cached_tokens: 75, cache_write_tokens: 5 },
        output_tokens: 10,
      }),
    ],
  ] as const)("with some written to a cache are one record when told by %s", async (protocol, body) => {
    expect(await countsOf(protocol, body)).toEqual(record(20, 75, 5, 10));
  });

  it.each(protocols)("of thinking are counted once by %s", async (protocol) => {
    const usage = { input: 100, output: 10, thinking: 6 };
    const body = answerBody(protocol, [{ thinking: "hm" }, { text: "hi" }], { reason: "stop", usage });
    expect(await countsOf(protocol, body)).toEqual(record(100, 0, 0, 10));
  });
});

describe("odd counts", () => {
  it.each([
    ["no usage at all", sse([delta({ content: "hi" }, "stop")])],
    ["null", chat(null)],
    ["an empty object", chat({})],
    ["texts", chat({ prompt_tokens: "100", completion_tokens: "10" })],
    ["a list", chat([1, 2])],
    ["negative numbers", chat({ prompt_tokens: -5, completion_tokens: -1 })],
    ["nulls", chat({ prompt_tokens: null, completion_tokens: null, total_tokens: null })],
  ])("%s in chat completions count nothing", async (_name, body) => {
    expect(await countsOf("openai-chat", body)).toEqual(nothing);
  });

  it.each([
    ["openai-chat", chat({ prompt_tokens: 10, completion_tokens: 1, prompt_tokens_details: { cached_tokens: 99 } })],
    [
      "openai-responses",
      responses({ input_tokens: 10, input_tokens_details: { cached_tokens: 99 }, output_tokens: 1 }),
    ],
    ["gemini", gemini({ promptTokenCount: 10, cachedContentTokenCount: 99, candidatesTokenCount: 1 })],
  ] as const)(
    "more cached tokens than there were in the prompt are as many as there were: %s",
    async (protocol, body) => {
      expect(await countsOf(protocol, body)).toEqual(record(0, 10, 0, 1));
    },
  );

  it.each([
    ["openai-responses", responses(undefined)],
    ["openai-responses", responses(null)],
    ["gemini", gemini(undefined)],
    ["gemini", gemini(null)],
    ["gemini", gemini({ promptTokenCount: null, candidatesTokenCount: null })],
    ["gemini", gemini({ promptTokenCount: -5, cachedContentTokenCount: -1, candidatesTokenCount: -1 })],
  ] as const)("%s without usage counts nothing", async (protocol, body) => {
    expect(await countsOf(protocol, body)).toEqual(nothing);
  });

  it("Anthropic's counts may come in the first event and be null afterwards", async () => {
    const first = {
      input_tokens: 25,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: 75,
      output_tokens: 1,
    };
    const last = {
      input_tokens: null,
      cache_creation_input_tokens: null,
      cache_read_input_tokens: null,
      output_tokens: 10,
    };
    expect(await countsOf("anthropic", anthropic(first, last))).toEqual(record(25, 75, 0, 10));
  });

  it("Anthropic's last event corrects the first", async () => {
    const body = anthropic(
      { input_tokens: 0, output_tokens: 0 },
      { input_tokens: 25, cache_read_input_tokens: 75, output_tokens: 10 },
    );
    expect(await countsOf("anthropic", body)).toEqual(record(25, 75, 0, 10));
  });
});

describe("what a request cost that failed", () => {
  const usage = { input: 100, cached: 75, output: 10 };
  const overloaded = { type: "error", error: { type: "overloaded_error", message: "Overloaded" } };

  it("is told by the outcome when an error follows the counts: chat completions", async () => {
    const body = `${sse([delta({ content: "h" }), { choices: [], usage: { prompt_tokens: 100, completion_tokens: 10, cached_tokens: 75 } }], "")}${event({ error: { message: "overloaded", type: "overloaded_error" } })}`;
    const { messages, outcome } = await answered("openai-chat", body);
    expect(outcome).toMatchObject({ status: "timeout", usage: record(25, 75, 0, 10) });
    expect(messages.some(({ payload }) => payload.type === "token_usage")).toBe(false);
  });

  it("is told as far as it is known when Anthropic's answer breaks off or fails", async () => {
    const events = answer("anthropic", [{ text: "Half" }], { reason: "stop", usage });
    const begun = events.slice(0, 4).join("");
    const known = record(25, 75, 0, 1);
    expect((await answered("anthropic", begun)).outcome).toMatchObject({ status: "malformed", usage: known });
    const failed = await answered("anthropic", begun + namedEvent(overloaded));
    expect(failed.outcome).toMatchObject({ status: "timeout", usage: known });
  });

  it("is told as far as it is known when Gemini's answer breaks off or fails", async () => {
    const [begun = ""] = answer("gemini", [{ text: "Half" }], { reason: "stop", usage });
    const known = record(25, 75, 0, 10);
    expect((await answered("gemini", begun)).outcome).toMatchObject({ status: "malformed", usage: known });
    const error = { error: { code: 503, message: "overloaded", status: "UNAVAILABLE" } };
    expect((await answered("gemini", begun + event(error))).outcome).toMatchObject({ status: "timeout", usage: known });
  });

  it("is told when a response fails that has counted", async () => {
    const counts = { input_tokens: 100, input_tokens_details: { cached_tokens: 75 }, output_tokens: 10 };
    const response = { id: "resp_1", object: "response", created_at: 1, model: "m", output: [], status: "failed" };
    const error = { code: "server_error", message: "overloaded" };
    const events = answer("openai-responses", [{ text: "Half" }]).join("");
    const body = events + namedEvent({ type: "response.failed", response: { ...response, error, usage: counts } });
    expect((await answered("openai-responses", body)).outcome).toMatchObject({
      status: "timeout",
      usage: record(25, 75, 0, 10),
    });
  });

  it("is not made up when nothing was told", async () => {
    for (const protocol of ["openai-chat", "openai-responses"] as const) {
      const { outcome } = await answered(protocol, answer(protocol, [{ text: "Half" }]).join(""));
      expect(outcome).toMatchObject({ status: "malformed" });
      expect(outcome).not.toHaveProperty("usage");
    }
  });
});

describe("a Session", () => {
  it.each(protocols)("counts every request once, also those that were made again: %s", async (protocol) => {
    const usage = { input: 100, cached: 75, output: 10 };
    const good = answerBody(protocol, [{ text: "Done." }], { reason: "stop", usage });
    const bodies = [failing[protocol], failing[protocol], good, good];
    const server = await startWireServer({ exchanges: bodies.map((body) => ({ body })) });
    cleanUps.push(() => server.close());
    const home = await mkdtemp(join(tmpdir(), "coxswain-test-"));
    cleanUps.push(() => rm(home, { recursive: true, force: true }));
    cleanUps.push(() => playTraces(projectPaths(home, "default_project", "default_agent").tracesDir));
    const model = await createLanguageModel(settingsFor(protocol, server.url), { env: {} });
    const agent = () => createAgent({ home, systemPrompt: "test", model });
    const session = await (await agent()).createSession({ workspaceDir: home });
    const stream: OmniMessage[] = [];
    for await (const message of session.run([userText("go")])) {
      stream.push(message);
      if (isPayload(message, "request_end")) setImmediate(() => session.skipReconnectWait());
    }
    expect(told(stream)).toEqual([failed[protocol], failed[protocol], record(25, 75, 0, 10)]);
    const sum = sumOf(told(stream));
    expect(
      stream.flatMap((message) => (isPayload(message, "token_usage") ? [message.payload] : [])).at(-1)?.session,
    ).toEqual(sum);
    await session.dispose();
    const resumed = await (await agent()).resumeSession(session.id);
    cleanUps.push(() => resumed.dispose());
    const later: OmniMessage[] = [];
    for await (const message of resumed.run([userText("again")])) later.push(message);
    const last = later.flatMap((message) => (isPayload(message, "token_usage") ? [message.payload] : [])).at(-1);
    expect(last?.session).toEqual(sumOf([sum, record(25, 75, 0, 10)]));
  });

  const half = { input: 100, cached: 75, output: 4 };
  const failing: Record<WireProtocol, string> = {
    "openai-chat": sse([
      delta({ content: "Half" }),
      {
        choices: [],
        usage: { prompt_tokens: 100, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 75 } },
      },
    ]),
    "openai-responses": `${answer("openai-responses", [{ text: "Half" }]).join("")}${namedEvent({
      type: "response.failed",
      response: {
        id: "resp_1",
        object: "response",
        created_at: 1,
        model: "m",
        output: [],
        status: "failed",
        error: { code: "server_error", message: "overloaded" },
        usage: { input_tokens: 100, input_tokens_details: { cached_tokens: 75 }, output_tokens: 4 },
      },
    })}`,
    anthropic: answer("anthropic", [{ text: "Half" }], { reason: "stop", usage: half })
      .slice(0, 4)
      .join(""),
    gemini: answer("gemini", [{ text: "Half" }], { reason: "stop", usage: half })
      .slice(0, 1)
      .join(""),
  };
  const failed: Record<WireProtocol, TokenCounts> = {
    "openai-chat": record(25, 75, 0, 4),
    "openai-responses": record(25, 75, 0, 4),
    // It tells at first what the answer's beginning costs.
    anthropic: record(25, 75, 0, 1),
    gemini: record(25, 75, 0, 4),
  };

  function told(stream: readonly OmniMessage[]): TokenCounts[] {
    return stream.flatMap((message) => (isPayload(message, "token_usage") ? [message.payload.request] : []));
  }

  function sumOf(counts: readonly TokenCounts[]): TokenCounts {
    const sum = (field: keyof TokenCounts): number => counts.reduce((all, each) => all + each[field], 0);
    return record(sum("input"), sum("cache_read"), sum("cache_write"), sum("output"));
  }
});
