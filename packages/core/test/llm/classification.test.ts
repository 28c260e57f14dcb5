/** Errors that a provider tells: the same class for each protocol, as a refusal and inside an answer. */
import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import { afterEach, describe, expect, it } from "vitest";
import { errorEvents, refusalBody, type WireError } from "./support/error-shapes.ts";
import { generate, texts, undisciplined } from "./support/generate.ts";
import { answer, contextFor, protocols, testKey, type WireProtocol } from "./support/streams.ts";

let server: WireServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function ask(protocol: WireProtocol, exchange: WireExchange) {
  server = await startWireServer({ exchanges: [exchange] });
  const generated = await generate(await contextFor(protocol, server.url));
  await server.close();
  server = undefined;
  expect(undisciplined(generated.messages)).toEqual([]);
  expect(JSON.stringify(generated)).not.toContain(testKey);
  return generated;
}

const json = { "content-type": "application/json" };

interface Expected {
  status: string;
  contextOverflow?: boolean;
  retryAfterMs?: number;
}

const failed: Expected = { status: "failed" };
const overflow: Expected = { status: "failed", contextOverflow: true };
const auth: Expected = { status: "auth" };
const timeout: Expected = { status: "timeout" };

function expectClass(outcome: object, { status, contextOverflow, retryAfterMs }: Expected): void {
  expect(outcome).toMatchObject({ status, ...(retryAfterMs !== undefined && { retryAfterMs }) });
  expect("contextOverflow" in outcome).toBe(contextOverflow === true);
  if (retryAfterMs === undefined) expect(outcome).not.toHaveProperty("retryAfterMs");
  expect(outcome).not.toHaveProperty("finishReason");
}

const statuses: [number, Expected][] = [
  [401, auth],
  [413, overflow],
  ...[402, 408, 409, 425, 429, 500, 502, 503, 504, 529].map((status): [number, Expected] => [status, timeout]),
  [400, failed],
  [403, failed],
  [404, failed],
  [422, failed],
];

describe.each(protocols)("%s: a refusal", (protocol) => {
  it.each(statuses)("HTTP %i", async (status, expected) => {
    const words = `in the provider's words${status === 403 ? "" : ` ${testKey}`}`;
    const body = refusalBody(protocol, { message: words });
    const { messages, outcome } = await ask(protocol, { status, headers: json, body });
    expect(messages).toEqual([]);
    expectClass(outcome, expected);
    expect(outcome.errorMessage).toContain(`HTTP ${status}: in the provider's words`);
  });

  it.each([
    ["a page", 502, "<html><head><title>Bad Gateway</title></head></html>", "Bad Gateway"],
    ["plain words", 500, "upstream went away", "upstream went away"],
    ["nothing", 503, "", "HTTP 503"],
    ["JSON of another shape", 529, '{"detail":"come back"}', "come back"],
  ])("as %s has the class of its status", async (_name, status, body, words) => {
    const { outcome } = await ask(protocol, { status, headers: { "content-type": "text/html" }, body });
    expectClass(outcome, timeout);
    expect(outcome.errorMessage).toContain(words);
  });

  it("asks for a wait in a header", async () => {
    const body = refusalBody(protocol, { message: "slow down. Please try again in 9s." });
    const { outcome } = await ask(protocol, { status: 429, headers: { ...json, "retry-after": "3" }, body });
    expectClass(outcome, { status: "timeout", retryAfterMs: 3_000 });
  });
});

/** Errors that say by their code what they are; `http` is the status that they come with as a refusal. */
const coded: Record<string, { error: Record<WireProtocol, WireError>; http: number; expected: Expected }> = {
  "a key that is wrong": {
    http: 400,
    expected: auth,
    error: {
      "openai-chat": { message: "Incorrect API key provided", code: "invalid_api_key" },
      "openai-responses": { message: "Incorrect API key provided", code: "invalid_api_key" },
      anthropic: { message: "invalid x-api-key", code: "authentication_error" },
      gemini: {
        message: "API key not valid. Please pass a valid API key.",
        code: "INVALID_ARGUMENT",
        status: 400,
        details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "API_KEY_INVALID" }],
      },
    },
  },
  "a permission that is missing": {
    http: 403,
    expected: auth,
    error: {
      "openai-chat": { message: "no access", code: "permission_denied" },
      "openai-responses": { message: "no access", code: "permission_denied" },
      anthropic: { message: "Your API key does not have permission to use this", code: "permission_error" },
      gemini: { message: "Please use API Key", code: "PERMISSION_DENIED", status: 403 },
    },
  },
  "an input that does not fit": {
    http: 400,
    expected: overflow,
    error: {
      "openai-chat": {
        message: "This model's maximum context length is 128000 tokens. However, your messages resulted in 130000.",
        code: "context_length_exceeded",
      },
      "openai-responses": {
        message: "Your input exceeds the context window of this model. Please adjust your input and try again.",
        code: "context_length_exceeded",
      },
      anthropic: { message: "prompt is too long: 210000 tokens > 200000 maximum", code: "invalid_request_error" },
      gemini: {
        message: "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).",
        code: "INVALID_ARGUMENT",
        status: 400,
      },
    },
  },
  "a quota that is used up": {
    http: 429,
    expected: timeout,
    error: {
      "openai-chat": { message: "You exceeded your current quota", code: "insufficient_quota" },
      "openai-responses": { message: "You exceeded your current quota", code: "insufficient_quota" },
      anthropic: { message: "Your credit is used up", code: "billing_error" },
      gemini: { message: "You exceeded your current quota", code: "RESOURCE_EXHAUSTED", status: 429 },
    },
  },
  "a user's quota behind a 403": {
    http: 403,
    expected: timeout,
    error: {
      "openai-chat": { message: "the key has no quota", code: "insufficient_user_quota" },
      "openai-responses": { message: "the key has no quota", code: "insufficient_user_quota" },
      anthropic: { message: "the key has no quota", code: "insufficient_user_quota" },
      gemini: { message: "the key has no quota", code: "INSUFFICIENT_USER_QUOTA" },
    },
  },
  "a rate limit, which says when": {
    http: 429,
    expected: { status: "timeout", retryAfterMs: 6_500 },
    error: {
      "openai-chat": {
        message: "Rate limit reached on tokens per min (TPM): Limit 30000, Used 28000. Please try again in 6.5s.",
        code: "rate_limit_exceeded",
      },
      "openai-responses": { message: "Rate limit reached. Please try again in 6500ms.", code: "rate_limit_exceeded" },
      anthropic: { message: "Too many requests. Retry after 6.5 seconds", code: "rate_limit_error" },
      gemini: {
        message: "Too many requests. Please retry in 7.1s.",
        code: "RESOURCE_EXHAUSTED",
        status: 429,
        details: [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "6.5s" }],
      },
    },
  },
  "a server that fails": {
    http: 500,
    expected: timeout,
    error: {
      "openai-chat": { message: "The server had an error while processing your request", code: "server_error" },
      "openai-responses": { message: "The server had an error while processing your request", code: "server_error" },
      anthropic: { message: "Internal server error", code: "api_error" },
      gemini: { message: "An internal error has occurred.", code: "INTERNAL", status: 500 },
    },
  },
  "a server that is overloaded": {
    http: 529,
    expected: timeout,
    error: {
      "openai-chat": { message: "That model is currently overloaded", code: "engine_overloaded_error" },
      "openai-responses": { message: "Our servers are currently overloaded", code: "server_is_overloaded" },
      anthropic: { message: "Overloaded", code: "overloaded_error" },
      gemini: { message: "The model is overloaded. Please try again later.", code: "UNAVAILABLE", status: 503 },
    },
  },
  "a parameter that is not supported": {
    http: 400,
    expected: failed,
    error: {
      "openai-chat": { message: "Unsupported parameter: 'top_k'", code: "unsupported_parameter" },
      "openai-responses": { message: "Unsupported parameter: 'top_k'", code: "unsupported_parameter" },
      anthropic: { message: "top_k: Extra inputs are not permitted", code: "invalid_request_error" },
      gemini: { message: 'Unknown name "topQ": Cannot find field.', code: "INVALID_ARGUMENT", status: 400 },
    },
  },
  "a model that does not exist": {
    http: 404,
    expected: failed,
    error: {
      "openai-chat": { message: "The model `x` does not exist or you do not have access", code: "model_not_found" },
      "openai-responses": {
        message: "The model `x` does not exist or you do not have access",
        code: "model_not_found",
      },
      anthropic: { message: "model: x", code: "not_found_error" },
      gemini: { message: "models/x is not found for API version v1beta", code: "NOT_FOUND", status: 404 },
    },
  },
};

describe.each(protocols)("%s: an error that says what it is:", (protocol) => {
  it.each(Object.entries(coded))("%s", async (_name, { error, http, expected }) => {
    const told = error[protocol];
    const refused = await ask(protocol, { status: http, headers: json, body: refusalBody(protocol, told) });
    expectClass(refused.outcome, expected);
    expect(refused.outcome.errorMessage).toContain(told.message);
    const spoken = answer(protocol, [{ text: "half a" }]).join("");
    for (const event of errorEvents(protocol, { ...told, message: `${told.message} ${testKey}` })) {
      for (const [before, texted] of [
        ["", []],
        [spoken, ["half a"]],
      ] as const) {
        for (const end of ["close", "hold"] as const) {
          const { messages, outcome } = await ask(protocol, { body: before + event, end });
          expectClass(outcome, expected);
          expect(outcome.errorMessage).toContain(`${told.message} [redacted]`);
          expect(texts(messages)).toEqual(texted);
        }
      }
    }
  });

  it("something nobody knows, inside an answer, is malformed, and its words are told", async () => {
    for (const event of errorEvents(protocol, { message: "odd thing", code: "odd_thing" })) {
      for (const before of ["", answer(protocol, [{ text: "half a" }]).join("")]) {
        const { outcome } = await ask(protocol, { body: before + event });
        expectClass(outcome, { status: "malformed" });
        expect(outcome.errorMessage).toContain("odd thing");
      }
    }
  });
});

describe.each(protocols)("%s: an error in place of the answer", (protocol) => {
  it.each<[string, string, Expected, string]>([
    ["in the provider's shape", refusalBody(protocol, { message: "no", code: "overloaded_error" }), timeout, "no"],
    ["of a gateway", '{"error":{"message":"Invalid API key","code":401}}', auth, "Invalid API key"],
    ["in an array", '[{"error":{"code":503,"message":"later","status":"UNAVAILABLE"}}]', timeout, "later"],
    ["as a text", '{"error":"context length exceeded"}', overflow, "context length exceeded"],
    ["without the word", '{"code":"1305","msg":"model overloaded"}', timeout, "model overloaded"],
    ["with a status of its own", '{"success":false,"code":500,"msg":"oops"}', timeout, "oops"],
    ["of nobody's shape", '{"base_resp":{"status_code":1004,"status_msg":"odd"}}', { status: "malformed" }, "odd"],
    ["that says nothing known", '{"oops":"what?"}', { status: "malformed" }, "what?"],
    ["a page of a proxy", "<html><title>Please log in</title></html>", { status: "malformed" }, "Please log in"],
    ["plain words", "no healthy upstream", { status: "malformed" }, "no healthy upstream"],
    ["nothing", "", { status: "malformed" }, "ended"],
    ["only comments", ": keep-alive\n\n", { status: "malformed" }, "ended"],
    ["a whole answer", '{"choices":[{"message":{"content":"hi"}}]}', { status: "malformed" }, "one object"],
  ])("%s", async (_name, body, expected, words) => {
    for (const type of ["application/json", "text/event-stream"]) {
      const { messages, outcome } = await ask(protocol, { headers: { "content-type": type }, body });
      expect(messages).toEqual([]);
      expectClass(outcome, expected);
      expect(outcome.errorMessage).toContain(words);
    }
  });
});

/** Whole refusals, in the words that providers use. */
const known: [WireProtocol, number, unknown, Expected][] = [
  [
    "openai-chat",
    401,
    { error: { message: `Incorrect API key provided: ${testKey}`, type: "invalid_request_error", param: null } },
    auth,
  ],
  [
    "openai-responses",
    403,
    { error: { message: "Project `p` does not have access to model `m`", code: "model_not_found", param: null } },
    auth,
  ],
  [
    "anthropic",
    400,
    {
      type: "error",
      error: {
        type: "invalid_request_error",
        message: "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000",
      },
    },
    overflow,
  ],
  [
    "anthropic",
    413,
    { type: "error", error: { type: "request_too_large", message: "Request exceeds the maximum size" } },
    overflow,
  ],
  [
    "gemini",
    429,
    {
      error: {
        code: 429,
        message: "You exceeded your current quota. Please retry in 34.074824224s.",
        status: "RESOURCE_EXHAUSTED",
        details: [
          { "@type": "type.googleapis.com/google.rpc.QuotaFailure", violations: [{ quotaId: "PerDay" }] },
          { "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: "34s" },
        ],
      },
    },
    { status: "timeout", retryAfterMs: 34_000 },
  ],
  [
    "gemini",
    400,
    { error: { code: 400, message: "User location is not supported for the API use.", status: "FAILED_PRECONDITION" } },
    failed,
  ],
];

describe("in the provider's own words", () => {
  it.each(known)("%s HTTP %i %j", async (protocol, status, body, expected) => {
    const { outcome } = await ask(protocol, { status, headers: json, body: JSON.stringify(body) });
    expectClass(outcome, expected);
  });
});
