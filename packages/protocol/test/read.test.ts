import { describe, expect, test } from "vitest";
import { parseOmniMessage, readOmniMessage, safeParseOmniMessage } from "../src/index.ts";
import { at, eventMessage, modelMessage } from "./support/builders.ts";
import { type FullMessage, fullMessages, wholeMessage } from "./support/payloads.ts";

const rows: [name: string, full: FullMessage][] = fullMessages.map((full) => [full.name, full]);
const optional = rows.flatMap(([name, full]) =>
  Object.keys(full.payload)
    // An abort may say that it has no reason.
    .filter((field) => !full.required.includes(field) && field !== "reason")
    .map((field): [string, string, FullMessage] => [name, field, full]),
);
const implied = rows.filter(([name]) => name !== "text" && name !== "inline_data" && name !== "session_meta");

function read(value: unknown): unknown {
  const result = readOmniMessage(value);
  if (!result.ok) throw result.error;
  return result.message;
}

describe("a record of another program", () => {
  test.each(rows)("that writes %s as we do is the same object", (_name, full) => {
    const value = wholeMessage(full);
    expect(read(value)).toBe(value);
  });

  test.each(optional)("with a %s whose %s is null is as without it", (_name, field, full) => {
    const value = wholeMessage(full);
    const expected = wholeMessage(full);
    value.payload[field] = null;
    delete expected.payload[field];
    expect(read(value)).toEqual(expected);
    expect(value.payload[field]).toBeNull();
    expect(safeParseOmniMessage(value).ok).toBe(false);
  });

  test.each(implied.filter(([, full]) => full.envelope === "model_msg"))(
    "that leaves out the role of a %s, which has but one, is read with it",
    (_name, full) => {
      const value = wholeMessage(full);
      delete value.payload["role"];
      expect(read(value)).toEqual(wholeMessage(full));
      expect(read({ ...value, payload: { ...value.payload, role: null } })).toEqual(wholeMessage(full));
      expect(safeParseOmniMessage(value).ok).toBe(false);
    },
  );

  test.each(["text", "inline_data"])("that leaves out the role of a %s, which has two, is refused", (type) => {
    const payload = { type, text: "", data: "", mime_type: "a/b" };
    expect(readOmniMessage(modelMessage(payload))).toMatchObject({
      ok: false,
      error: { code: "missing_field", path: "payload.role" },
    });
  });

  test("with nulls inside of what it holds is as without them, and keeps what we do not know", () => {
    const tool = { name: "n", description: "d", parameters: null, permission: null, note: null };
    const written = { ...(eventMessage({ type: "tool_list_ready", tools: [tool] }) as object), origin: null, id: null };
    expect(read(written)).toEqual({
      ...(eventMessage({ type: "tool_list_ready", tools: [{ name: "n", description: "d", note: null }] }) as object),
      id: null,
    });
    const counts = { input: null, cache_read: null, output: 1, total: 2 };
    expect(read(eventMessage({ type: "token_usage", session: counts, request: counts }))).toEqual(
      eventMessage({ type: "token_usage", session: { output: 1, total: 2 }, request: { output: 1, total: 2 } }),
    );
  });

  test("keeps an unknown payload and a null that says something", () => {
    const unknown = { ...(modelMessage({ type: "weather", role: null }) as object), origin: null };
    expect(read(unknown)).toEqual(modelMessage({ type: "weather", role: null }));
    expect(read(eventMessage({ type: "abort", reason: null, undelivered: null }))).toEqual(
      eventMessage({ type: "abort", reason: null }),
    );
  });

  test.each<[unknown, string]>([
    [null, "a message must be an object"],
    [
      modelMessage({ type: "tool_call", name: "n", arguments: null, tool_call_id: "c", sender: null }),
      "payload.role is missing",
    ],
    [eventMessage({ type: "request_end", status: null, attempt: null }), "payload.status must be one of"],
    [at.userText(7 as unknown as string), "payload.text must be a string"],
  ])("that is wrong in more than that is refused with its first fault: %j", (value, words) => {
    const result = readOmniMessage(value);
    expect(result.ok ? "" : result.error.message).toContain(words);
    expect(() => parseOmniMessage(value)).toThrow(words);
  });

  test("that throws when it is read is refused", () => {
    const { proxy, revoke } = Proxy.revocable({}, {});
    revoke();
    for (const value of [proxy, eventMessage(proxy)]) expect(readOmniMessage(value).ok).toBe(false);
  });
});
