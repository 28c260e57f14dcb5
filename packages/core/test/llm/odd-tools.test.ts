import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import {
  isPayload,
  type OmniMessage,
  systemClock,
  type ToolDefinition,
  toolCallOutput,
  userText,
} from "@coxswain/core";
import { startWireServer, type WireExchange, type WireRequest, type WireServer } from "@coxswain/testing";
import { afterEach, describe, expect, it } from "vitest";
import { GenerativeModel } from "../../src/llm/context/generative-model.ts";
import { declaredName } from "../../src/llm/declaration/declared-name.ts";
import { createLanguageModel } from "../../src/llm/create-language-model.ts";
import { isRecord } from "../../src/shared/json.ts";
import { calls, generate, generousLimits, texts } from "./support/generate.ts";
import { refusals, type WireTool } from "./support/refused-tools.ts";
import { answerBody, protocols, type WireProtocol } from "./support/streams.ts";

const ownName = "list items/all of them";
const changedName = declaredName(ownName);

const odd: Record<string, unknown> = {
  "no type": {},
  "no properties": { type: "object" },
  "names a property that is absent": { type: "object", properties: {}, required: ["absent"] },
  "an array without items": { type: "object", properties: { list: { type: "array" }, lists: { items: {} } } },
  "alternatives at the top": {
    anyOf: [{ type: "object", properties: { a: { type: "string" } }, required: ["a"] }, { properties: { b: {} } }],
  },
  "all of several": {
    allOf: [{ $ref: "#/$defs/a" }, { properties: { b: { const: 1 } } }],
    $defs: { a: { required: ["c"] } },
  },
  "a reference": {
    $schema: "http://json-schema.org/draft-07/schema#",
    $ref: "#/definitions/a",
    definitions: { a: { type: "object", properties: { a: { $ref: "#/definitions/a" }, m: { $ref: "other.json" } } } },
    additionalProperties: false,
  },
  "a map": { type: "object", properties: { m: { type: "object", additionalProperties: { type: "string" } } } },
  "mixed values": {
    properties: { e: { enum: ["a", 1, null, {}] }, n: { type: "integer", enum: [1] }, x: { enum: [] } },
  },
  "only further names": { type: "object", additionalProperties: { type: "number" } },
  "names of every object": JSON.parse(
    '{"properties":{"__proto__":{},"constructor":{}},"required":["__proto__","toString"]}',
  ),
  "odd formats": {
    properties: { u: { type: "string", format: "uri", pattern: "^(?<x>\\p{L})$" }, "a[b]": { not: {} } },
  },
  "a tuple": {
    properties: { t: { type: "array", items: [{ type: "number" }, true] }, f: false },
    required: ["t", "f"],
  },
  "two megabytes": {
    properties: Object.fromEntries(Array.from({ length: 20_000 }, (_, i) => [`p${i}`, { title: "x".repeat(90) }])),
  },
  "a list": [],
  "a text": "object",
  "no object": { type: "string" },
};

const tools: ToolDefinition[] = [
  ...Object.entries(odd).map(([name, parameters]) => ({ name, description: "Odd.", parameters }) as ToolDefinition),
  { name: ownName, description: "Lists.", parameters: { type: "object", properties: { p: { type: "string" } } } },
  { name: ownName, description: "Lists twice." },
  { name: "", description: "Has no name." },
  { name: "constructor", description: "Is in every object." },
  { name: "7\ud83d", description: "Half \ud83d of one." },
  { name: "plain", description: "As it should be." },
];
const left = new Set(["two megabytes", "a list", "a text", "no object"]);

/** Each protocol's tools in one form. */
function wireTools(protocol: WireProtocol, body: unknown): WireTool[] {
  const list = isRecord(body) && Array.isArray(body["tools"]) ? body["tools"].filter(isRecord) : [];
  switch (protocol) {
    case "openai-chat":
      return list.map((tool) => tool["function"] as WireTool);
    case "openai-responses":
      return list.map(({ name, parameters }) => ({ name, parameters }));
    case "anthropic":
      return list.map((tool) => ({ name: tool["name"], parameters: tool["input_schema"] }));
    case "gemini":
      return list.flatMap((tool) => tool["functionDeclarations"] as WireTool[]);
  }
}

let server: WireServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** A server that refuses what providers refuse, and else answers with the given bodies, in order. */
async function strictServer(protocol: WireProtocol, answers: readonly (string | Buffer)[]): Promise<WireServer> {
  let answered = 0;
  const handler = ({ body }: WireRequest): WireExchange => {
    const refused = refusals(wireTools(protocol, body), protocol === "gemini");
    if (refused.length === 0) return { body: answers[answered++] };
    const error = { type: "invalid_request_error", message: refused.join("\n"), code: 400, status: "INVALID_ARGUMENT" };
    return { status: 400, headers: { "content-type": "application/json" }, body: JSON.stringify({ error }) };
  };
  server = await startWireServer({ handler });
  return server;
}

async function contextOf(protocol: WireProtocol, url: string, history?: readonly OmniMessage[]) {
  const settings = { provider: "local", modelId: "test-model", protocol, contextWindow: 0, vision: false };
  const model = await createLanguageModel({ ...settings, baseUrl: `${url}/v1`, apiKey: "test-key-0123456789" });
  return new GenerativeModel({ model, systemPrompt: "Be brief.", limits: generousLimits, clock: systemClock, history });
}

function goodAnswer(protocol: WireProtocol): Promise<Buffer> {
  return readFile(fileURLToPath(new URL(`wire/good-answer.${protocol}.sse`, import.meta.url)));
}

describe.each(protocols)("over %s", (protocol) => {
  it("a plain request completes whatever tools there are, and those that can be declared are", async () => {
    const { url, requests } = await strictServer(protocol, [await goodAnswer(protocol)]);
    const { messages, outcome } = await generate(await contextOf(protocol, url), { tools });
    expect(outcome).toMatchObject({ status: "completed" });
    expect(texts(messages)).toEqual(["All finished."]);
    const names = tools.map(({ name }) => name).filter((name) => !left.has(name));
    expect(wireTools(protocol, requests[0]?.body).map(({ name }) => name)).toEqual(
      [...new Set(names)].map(declaredName),
    );
    const notices = messages.flatMap(({ payload }) => (payload.type === "notice" ? [payload.message] : []));
    for (const name of left) expect(notices).toContainEqual(expect.stringContaining(`Tool "${name}": left out; `));
    expect(notices).not.toContainEqual(expect.stringContaining('"plain"'));
  });

  it("a call of a tool whose name had to be changed has its own, and what is sent has the other", async () => {
    const good = await goodAnswer(protocol);
    const call = { id: "call_1", name: changedName, arguments: '{"p":"x"}' };
    const called = answerBody(protocol, [{ call }], { reason: "calls" });
    const { url, requests } = await strictServer(protocol, [called, good, good]);
    const llm = await contextOf(protocol, url);
    const { messages, outcome } = await generate(llm, { tools });
    expect(outcome).toMatchObject({ status: "completed" });
    expect(calls(messages)).toMatchObject([{ name: ownName, arguments: '{"p":"x"}' }]);
    const starts = messages.flatMap(({ payload }) => (payload.type === "partial_tool_call" ? [payload.name] : []));
    expect(new Set(starts.filter((name) => name !== undefined))).toEqual(new Set([ownName]));
    const toolCallId = calls(messages)[0]?.id ?? "";
    const newMessages = [toolCallOutput({ output: "none", toolCallId })];
    const live = await generate(llm, { newMessages, tools });
    expect(live.outcome).toMatchObject({ status: "completed" });
    const resumed = await contextOf(protocol, url, [
      userText("hi"),
      ...messages.filter((message) => isPayload(message, "tool_call")),
    ]);
    const later = await generate(resumed, { newMessages, tools });
    expect(later.outcome).toMatchObject({ status: "completed" });
    expect(requests).toHaveLength(3);
    for (const { body } of requests.slice(1)) {
      const text = JSON.stringify(body);
      expect(text.split(`"name":"${changedName}"`).length - 1).toBeGreaterThanOrEqual(2);
      expect(text).not.toContain(ownName);
    }
  });
});
