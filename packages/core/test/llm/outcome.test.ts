import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { classify } from "../../src/llm/fault/outcome.ts";
import { type Fault, ProviderFault } from "../../src/llm/fault/provider-fault.ts";
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

function classOf(fault: Fault) {
  return classify(new ProviderFault(fault), 0);
}

describe("the table", () => {
  it.each(rows)("HTTP %i %j", (status, fields, expected) => {
    const told = classOf({ kind: "http", status, headers: json, body: error(fields) });
    expect(told).toMatchObject(expected);
    if (expected.contextOverflow !== true) expect(told).not.toHaveProperty("contextOverflow");
    expect(told.errorMessage).toContain(String(fields["message"]).slice(0, 30));
  });

  it.each(rows)("the same as an error object inside a 200: %i %j", (status, fields, expected) => {
    expect(classOf({ kind: "error_object", error: { error: { ...fields, status } } })).toMatchObject(expected);
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

  it("a body that is no JSON keeps the status", () => {
    const body = "<html><title>Bad Gateway</title></html>";
    const told = classOf({ kind: "http", status: 502, headers: {}, body });
    expect(told).toMatchObject({
      status: "timeout",
      errorMessage: expect.stringContaining("HTTP 502: Bad Gateway") as unknown,
    });
  });
});

describe("the network", () => {
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
    expect(classOf({ kind: "exception", error: thrown(code) }).status).toBe(status);
  });

  it("an address that is not even tried is not tried again", async () => {
    const refusals = ["http://127.0.0.1:9/v1", "gopher://127.0.0.1/v1"].map((url) =>
      fetch(url).catch((error: unknown) => error),
    );
    for (const refusal of await Promise.all(refusals)) {
      expect(classify(refusal, 0)).toMatchObject({
        status: "failed",
        errorMessage: expect.stringContaining("base URL") as unknown,
      });
    }
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
  it("comes with the outcome, and a good answer after it has none", async () => {
    const refused = { status: 429, headers: { ...json, "retry-after": "3" }, body: error({ message: "slow down" }) };
    server = await startWireServer({ exchanges: [refused, { body: await wire("good-answer") }] });
    const llm = chatContext(server.url);
    expect((await generate(llm)).outcome).toMatchObject({ status: "timeout", retryAfterMs: 3_000 });
    expect((await generate(llm)).outcome).not.toHaveProperty("retryAfterMs");
  });
});
