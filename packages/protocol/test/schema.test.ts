import fc from "fast-check";
import { describe, expect, test } from "vitest";
import {
  emptyTokenCounts,
  parseOmniMessage,
  ProtocolError,
  type ProtocolErrorCode,
  safeParseOmniMessage,
} from "../src/index.ts";
import { at, eventMessage, modelMessage, startTime } from "./support/builders.ts";
import { disciplinedStream } from "./support/streams.ts";
import { type FullMessage, fullMessages, wholeMessage } from "./support/payloads.ts";

function errorOf(value: unknown): ProtocolError {
  const result = safeParseOmniMessage(value);
  if (result.ok) throw new Error(`parsed: ${JSON.stringify(value)}`);
  return result.error;
}

const rows: [name: string, full: FullMessage][] = fullMessages.map((full) => [full.name, full]);
const fieldRows = rows.flatMap(([name, full]) =>
  Object.keys(full.payload).map((field): [string, string, FullMessage] => [name, field, full]),
);

describe("a known message", () => {
  test.each(rows)("%s with every field parses to the same object", (_name, full) => {
    const value = wholeMessage(full);
    expect(parseOmniMessage(value)).toBe(value);
    expect(safeParseOmniMessage(value)).toEqual({ ok: true, message: value });
    expect(value).toEqual(wholeMessage(full));
  });

  test.each(fieldRows)("%s without %s is reported when the field is required", (_name, field, full) => {
    const value = wholeMessage(full);
    delete value.payload[field];
    if (!full.required.includes(field)) {
      expect(parseOmniMessage(value)).toBe(value);
      return;
    }
    expect(errorOf(value)).toMatchObject({ code: "missing_field", path: `payload.${field}` });
    expect(errorOf(value).message).toMatch(new RegExp(`^payload\\.${field} is missing; it must be `));
  });

  test.each(fieldRows)("%s with a %s of a wrong type is reported", (_name, field, full) => {
    // No field is a boolean. Of `type` it is the word itself that is wrong.
    const value = wholeMessage(full);
    value.payload[field] = true;
    expect(errorOf(value)).toMatchObject({ code: "invalid_field", path: `payload.${field}` });
    expect(errorOf(value).message).toMatch(/ must be .*, but is true$/);
  });

  test.each(fieldRows)("%s with a %s of undefined is as without it", (_name, field, full) => {
    const value = wholeMessage(full);
    value.payload[field] = undefined;
    const isRequired = full.required.includes(field);
    expect(safeParseOmniMessage(value).ok).toBe(!isRequired);
  });

  test("of a whole stream parses", () => {
    fc.assert(
      fc.property(disciplinedStream, (stream) => {
        for (const message of stream) expect(parseOmniMessage(message)).toBe(message);
      }),
      { numRuns: 30 },
    );
  });
});

describe("what we do not know", () => {
  test.each(rows)("fields stay on %s and in its envelope", (_name, full) => {
    const value = { ...wholeMessage(full), trace_id: 7 };
    value.payload["new_field"] = { nested: [null] };
    const before = structuredClone(value);
    expect(parseOmniMessage(value)).toBe(value);
    expect(value).toEqual(before);
  });

  test("payload types pass, also those that every object has as a property", () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string().map((type) => `new_${type}`),
          fc.constantFrom("constructor", "__proto__", "toString", ""),
        ),
        fc.constantFrom("model_msg", "event_msg"),
        fc.dictionary(fc.string(), fc.jsonValue()),
        (type, envelope, rest) => {
          const value = { timestamp: startTime, type: envelope, payload: { ...rest, type } };
          expect(parseOmniMessage(value)).toBe(value);
        },
      ),
    );
  });

  test.each([
    ["sender", modelMessage({ type: "text", role: "user", text: "", sender: "plugin" })],
    ["finish_reason", eventMessage({ type: "request_end", status: "completed", finish_reason: "paused" })],
    [
      "permission",
      eventMessage({ type: "tool_list_ready", tools: [{ name: "n", description: "d", permission: "x" }] }),
    ],
  ])("words of an open set pass: %s", (_name, value) => {
    expect(parseOmniMessage(value)).toBe(value);
  });
});

describe("what is wrong is named with its place", () => {
  const meta = at.sessionMeta({
    session_id: "s",
    provider: "p",
    model_id: "m",
    model_context_window: 1,
    system_prompt: "",
    agent_state: "/a",
    workspace: "/w",
  });
  const holed: string[] = [];
  holed.length = 1;
  test.each<[ProtocolErrorCode, string, unknown, string]>([
    ["invalid_field", "", null, "a message must be an object, but is null"],
    ["invalid_field", "", [1], "a message must be an object, but is an array of 1"],
    ["invalid_field", "", "{}", 'a message must be an object, but is "{}"'],
    ["missing_field", "type", {}, 'type is missing; it must be one of "session_meta", "model_msg", "event_msg"'],
    ["invalid_field", "type", { type: "log" }, '"session_meta", "model_msg", "event_msg", but is "log"'],
    ["missing_field", "timestamp", { type: "event_msg" }, "it must be an ISO 8601 time"],
    ["missing_field", "payload", { type: "event_msg", timestamp: startTime }, "it must be an object"],
    ["invalid_field", "payload", eventMessage([]), "payload must be an object, but is an array of 0"],
    ["missing_field", "payload.type", eventMessage({}), "payload.type is missing; it must be a string"],
    ["invalid_field", "payload.type", modelMessage({ type: 7 }), "payload.type must be a string, but is 7"],
    ["invalid_field", "origin", { ...at.requestBegin(), origin: [] }, "leave it out for a message of this Session"],
    ["invalid_field", "origin", { ...at.requestBegin(), origin: ["a", 1] }, "an array of Session ids"],
    ["mismatched_type", "payload.type", eventMessage({ type: "text" }), '"text" belongs to the type "model_msg", but'],
    [
      "mismatched_type",
      "payload.type",
      modelMessage({ type: "abort" }),
      '"abort" belongs to the type "event_msg", but',
    ],
    ["mismatched_type", "payload.type", { ...meta, payload: { type: "text" } }, 'message\'s type is "session_meta"'],
    [
      "invalid_field",
      "payload.role",
      modelMessage({ type: "thinking", role: "user", thinking: "" }),
      'must be "assistant"',
    ],
    [
      "invalid_field",
      "payload.images[1]",
      modelMessage({ type: "tool_call_output", role: "user", output: "", tool_call_id: "c", images: ["a", { b: 1 }] }),
      'payload.images[1] must be a string, but is an object with "b"',
    ],
    [
      "missing_field",
      "payload.images[0]",
      modelMessage({ type: "tool_call_output", role: "user", output: "", tool_call_id: "c", images: holed }),
      "payload.images[0] is missing",
    ],
    [
      "missing_field",
      "payload.tools[1].name",
      eventMessage({ type: "tool_list_ready", tools: [{ name: "n", description: "" }, { description: "" }] }),
      "payload.tools[1].name is missing; it must be a string",
    ],
    [
      "invalid_field",
      "payload.tools[0]",
      eventMessage({ type: "tool_list_ready", tools: ["read_file"] }),
      "must be a tool definition { name, description, parameters?, permission? }",
    ],
    [
      "invalid_field",
      "payload.results[0].tools[0]",
      eventMessage({
        type: "mcp_connect_end",
        status: "completed",
        results: [{ server: "s", transport: "t", status: "completed", duration_ms: 1, tools: [1] }],
      }),
      "payload.results[0].tools[0] must be a string, but is 1",
    ],
    [
      "missing_field",
      "payload.request.total",
      eventMessage({ type: "token_usage", session: emptyTokenCounts(), request: { input: 1 } }),
      "payload.request.total is missing; it must be a finite number",
    ],
    [
      "invalid_field",
      "payload.session.output",
      eventMessage({ type: "token_usage", session: { total: 1, output: Number.NaN }, request: { total: 1 } }),
      "payload.session.output must be a finite number, but is NaN",
    ],
  ])("%s at %j", (code, path, value, words) => {
    const error = errorOf(value);
    expect(error).toMatchObject({ name: "ProtocolError", code, path });
    expect(error.message).toContain(words);
    expect(() => parseOmniMessage(value)).toThrow(error);
  });

  test.each([
    ["2026-01-31T12:00:00.000Z", true],
    ["2026-01-31T12:00:00Z", true],
    ["2026-01-31T12:00:00.123456+02:00", true],
    ["2026-01-31", false],
    ["2026-13-31T12:00:00.000Z", false],
    ["2026-01-31T12:00:00.000Z and more", false],
    ["yesterday", false],
  ])("a timestamp of %s: %s", (timestamp, isValid) => {
    expect(safeParseOmniMessage({ ...at.requestBegin(), timestamp }).ok).toBe(isValid);
  });
});

describe("any value at all", () => {
  const anything = fc.anything({
    withBigInt: true,
    withDate: true,
    withMap: true,
    withSet: true,
    withNullPrototype: true,
    withObjectString: true,
    withSparseArray: true,
    withTypedArray: true,
  });
  const fieldNames = [...new Set(fullMessages.flatMap(({ payload }) => Object.keys(payload)))];

  function parsesOrReports(value: unknown): void {
    const result = safeParseOmniMessage(value);
    if (result.ok) {
      expect(result.message).toBe(value);
      expect(parseOmniMessage(value)).toBe(value);
      return;
    }
    expect(result.error).toBeInstanceOf(ProtocolError);
    expect(() => parseOmniMessage(value)).toThrow(ProtocolError);
  }

  test("parses or is a ProtocolError", () => {
    fc.assert(fc.property(fc.oneof(anything, fc.jsonValue()), parsesOrReports), { numRuns: 500 });
  });

  test("in any field of any message parses or is a ProtocolError", () => {
    const damaged = fc.tuple(fc.constantFrom(...fullMessages), fc.constantFrom(...fieldNames), anything);
    fc.assert(
      fc.property(damaged, ([full, field, content]) => {
        const value = wholeMessage(full);
        value.payload[field] = content;
        parsesOrReports(value);
      }),
      { numRuns: 1000 },
    );
  });

  test("that throws when it is read is a ProtocolError", () => {
    const hostile = {
      get type(): string {
        throw new Error("no");
      },
    };
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const value of [hostile, proxy, eventMessage(proxy)]) {
      parsesOrReports(value);
      expect(errorOf(value)).toMatchObject({ code: "invalid_field", path: "" });
    }
  });
});
