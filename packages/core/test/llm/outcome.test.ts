import { createServer } from "node:net";
import { once } from "node:events";
import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { classify } from "../../src/llm/fault/outcome.ts";
import { ProviderFault } from "../../src/llm/fault/provider-fault.ts";
import { readRetryAfterMs } from "../../src/llm/fault/retry-after.ts";
import { chatContext, generate, wire } from "./support/generate.ts";

let server: WireServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const json = { "content-type": "application/json" };
const error = (fields: Record<string, unknown>) => JSON.stringify({ error: fields });

type Expected = { status: string; contextOverflow?: boolean };
const overflow: Expected = { status: "failed", contextOverflow: true };

const rows: [number, Record<string, unknown>, Expected][] = [
  [401, { message: "who are you" }, { status: "auth" }],
  [403, { message: "Your API key may not use this model" }, { status: "auth" }],
  [403, { message: "no", code: "permission_denied" }, { status: "auth" }],
  [403, { message: "Country not supported" }, { status: "failed" }],
  [403, { message: "this key has no quota left", code: "insufficient_user_quota" }, { status: "timeout" }],
  [400, { message: "API key not valid. Please pass a valid one.", code: "invalid_api_key" }, { status: "auth" }],
  [400, { message: "x", code: "context_length_exceeded" }, overflow],
  [400, { message: "This model's maximum context length is 8192 tokens. However, you requested 9000" }, overflow],
  [400, { message: "prompt is too long: 210000 tokens > 200000 maximum" }, overflow],
  [400, { message: "The input token count (9) exceeds the maximum number of tokens allowed" }, overflow],
  [413, { message: "Payload Too Large" }, overflow],
  [
    400,
    { message: "max_tokens is too large: 90000. This model supports at most 16384 completion tokens" },
    { status: "failed" },
  ],
  [429, { message: "Too many tokens, please wait before trying again" }, { status: "timeout" }],
  ...[402, 408, 409, 425, 429, 500, 502, 503, 504, 529, 599].map(
    (status): [number, Record<string, unknown>, Expected] => [status, { message: "later" }, { status: "timeout" }],
  ),
  [400, { message: "x", code: "insufficient_quota" }, { status: "timeout" }],
  [400, { message: "Unsupported parameter: 'top_k'", code: "unsupported_parameter" }, { status: "failed" }],
  [404, { message: "The model `x` does not exist" }, { status: "failed" }],
  [422, { message: "odd" }, { status: "failed" }],
];

describe("the table", () => {
  it.each(rows)("HTTP %i %j", async (status, fields, expected) => {
    server = await startWireServer({ exchanges: [{ status, headers: json, body: error(fields) }] });
    const { messages, outcome } = await generate(chatContext(server.url));
    expect(messages).toEqual([]);
    expect(outcome).toMatchObject(expected);
    if (expected.contextOverflow !== true) expect(outcome).not.toHaveProperty("contextOverflow");
    expect(outcome.errorMessage).toContain(String(fields["message"]).slice(0, 30));
  });

  it.each(rows)("the same as an error object inside a 200: %i %j", async (status, fields, expected) => {
    const body = `data: ${JSON.stringify({ error: { ...fields, status } })}\n\n`;
    server = await startWireServer({ exchanges: [{ body }] });
    const { outcome } = await generate(chatContext(server.url));
    expect(outcome).toMatchObject(expected);
  });

  it.each([400, "error"])("an input that the content filter refuses is completed with a notice: %s", async (where) => {
    const fields = { message: "The prompt was filtered", code: "content_filter" };
    const exchange: WireExchange =
      where === 400 ? { status: 400, headers: json, body: error(fields) } : { body: `data: ${error(fields)}\n\n` };
    server = await startWireServer({ exchanges: [exchange] });
    const { messages, outcome } = await generate(chatContext(server.url));
    expect(outcome).toMatchObject({ status: "completed", finishReason: "content_filter" });
    expect(messages.map((message) => message.payload.type)).toEqual(["notice", "token_usage"]);
  });

  it("a body that is no JSON keeps the status", async () => {
    server = await startWireServer({ exchanges: [{ status: 502, body: "<html><title>Bad Gateway</title></html>" }] });
    const { outcome } = await generate(chatContext(server.url));
    expect(outcome).toMatchObject({ status: "timeout" });
    expect(outcome.errorMessage).toContain("HTTP 502: Bad Gateway");
  });
});

describe("the network", () => {
  it("a connection that is reset before the head is timeout", async () => {
    server = await startWireServer({ exchanges: [{ end: "refuse" }] });
    expect((await generate(chatContext(server.url))).outcome.status).toBe("timeout");
  });

  it("a port where nobody listens is timeout, and the message has the system's word", async () => {
    const unused = createServer().listen(0, "127.0.0.1");
    await once(unused, "listening");
    const address = unused.address();
    const port = typeof address === "object" && address !== null ? address.port : 0;
    unused.close();
    await once(unused, "close");
    const { outcome } = await generate(chatContext(`http://127.0.0.1:${port}`));
    expect(outcome.status).toBe("timeout");
    expect(outcome.errorMessage).toContain("ECONNREFUSED");
  });

  const thrown = (code: string, message = "x") =>
    Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(message), { code }) });
  it.each([
    ["ENOTFOUND", "timeout"],
    ["EAI_AGAIN", "timeout"],
    ["ETIMEDOUT", "timeout"],
    ["UND_ERR_CONNECT_TIMEOUT", "timeout"],
    ["UND_ERR_HEADERS_TIMEOUT", "timeout"],
    ["UND_ERR_SOCKET", "timeout"],
    ["CERT_HAS_EXPIRED", "failed"],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", "failed"],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", "failed"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "failed"],
    ["ERR_INVALID_URL", "failed"],
    ["Z_BUF_ERROR", "malformed"],
  ])("%s is %s", (code, status) => {
    expect(classify(thrown(code), 0).status).toBe(status);
    expect(classify(new ProviderFault({ kind: "exception", error: thrown(code) }), 0).status).toBe(status);
  });

  it("the proxy's refusal has the class of its status", () => {
    const refusal = (status: number) =>
      thrown("UND_ERR_ABORTED", `Proxy response (${status}) !== 200 when HTTP Tunneling`);
    expect([407, 503].map((status) => classify(refusal(status), 0).status)).toEqual(["failed", "timeout"]);
  });

  it("a bug of an adapter is failed", () => {
    expect(classify(new TypeError("x is not a function"), 0).status).toBe("failed");
  });
});

describe("errors of provider packages", () => {
  const named = (name: string, fields: Record<string, unknown>) => Object.assign(new Error("m"), { name, ...fields });
  it.each([
    [
      named("AI_APICallError", { statusCode: 429, responseHeaders: { "retry-after": "2" }, responseBody: "" }),
      "timeout",
    ],
    [
      named("AI_APICallError", { statusCode: 200, cause: Object.assign(new Error("x"), { code: "ECONNRESET" }) }),
      "timeout",
    ],
    [named("AI_JSONParseError", { text: "{" }), "malformed"],
    [named("AI_TypeValidationError", { value: { error: { type: "overloaded_error", message: "o" } } }), "timeout"],
    [named("AI_InvalidResponseDataError", {}), "malformed"],
    [named("AI_LoadAPIKeyError", {}), "auth"],
    [{ type: "overloaded_error", message: "Overloaded" }, "timeout"],
    [{ type: "invalid_request_error", message: "no" }, "failed"],
    ["what", "malformed"],
    [undefined, "malformed"],
  ])("%j is %s", (value, status) => {
    expect(classify(value, 0).status).toBe(status);
  });

  it("whatever is thrown gets an outcome with a bounded message and no key", () => {
    fc.assert(
      fc.property(fc.anything(), (value) => {
        const told = classify(value, 0);
        expect(told.errorMessage.length).toBeLessThan(900);
      }),
    );
    const told = classify(
      { message: `Incorrect key: sk-abc123def456 ${"x".repeat(5_000)}`, code: "invalid_api_key" },
      0,
    );
    expect(told.errorMessage).not.toContain("abc123");
    expect(told.errorMessage.length).toBeLessThan(900);
  });
});

describe("Retry-After", () => {
  const now = Date.UTC(2026, 0, 1);
  it.each([
    [{ "retry-after": "3" }, 3_000],
    [{ "retry-after": "1.5" }, 1_500],
    [{ "retry-after": "10800" }, 10_800_000],
    [{ "retry-after": "3", "retry-after-ms": "250" }, 250],
    [{ "retry-after": "Thu, 01 Jan 2026 00:00:07 GMT" }, 7_000],
    [{ "retry-after": "Wed, 31 Dec 2025 23:00:00 GMT" }, undefined],
    [{ "retry-after": "-3" }, undefined],
    [{ "retry-after": "soon" }, undefined],
    [{ "retry-after": "" }, undefined],
    [{ "retry-after": "1e99" }, undefined],
    [{}, undefined],
  ])("%j is %s ms", (headers, waitMs) => {
    expect(readRetryAfterMs(headers as Record<string, string>, now)).toBe(waitMs);
  });

  it("comes with the outcome, and a good answer after it has none", async () => {
    const refused = { status: 429, headers: { ...json, "retry-after": "3" }, body: error({ message: "slow down" }) };
    server = await startWireServer({ exchanges: [refused, { body: await wire("good-answer") }] });
    const llm = chatContext(server.url);
    expect((await generate(llm)).outcome).toMatchObject({ status: "timeout", retryAfterMs: 3_000 });
    expect((await generate(llm)).outcome).not.toHaveProperty("retryAfterMs");
  });
});
