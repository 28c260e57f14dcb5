import type { OmniMessage } from "@coxswain/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { createRecordEncoder, decodeLine } from "../../src/trace/codec.ts";
import { build } from "./support.ts";

const encode = createRecordEncoder();

function decoded(line: string): OmniMessage {
  const result = decodeLine(line);
  if (result.kind !== "message") throw new Error(result.kind);
  return result.message;
}

describe("a line", () => {
  test("is one line whatever the text, and says the same when it is read", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary" }), (text) => {
        const line = encode(build.assistantText(text));
        expect(line).not.toContain("\n");
        expect(decoded(line).payload).toEqual({ type: "text", role: "assistant", text });
      }),
    );
  });

  test("keeps payload types and fields that nobody knows yet", () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const message = {
          timestamp: "2026-01-31T12:00:00.000Z",
          type: "event_msg",
          payload: { type: "of_tomorrow", value },
          extra: value,
        } as unknown as OmniMessage;
        expect(decoded(encode(message))).toEqual(JSON.parse(JSON.stringify(message)));
      }),
    );
  });

  const halves: [string, string, string][] = [
    ["the first half of a pair", "a\ud83d", "a\ufffd"],
    ["the second half of a pair", "\udc27b", "\ufffdb"],
    ["halves in the wrong order", "\udc27\ud83d", "\ufffd\ufffd"],
    ["a whole pair", "🐧", "🐧"],
    ["a backslash before the same letters", "\\ud83d", "\\ud83d"],
    ["a backslash and a half", "\\\ud83d", "\\\ufffd"],
    ["two backslashes, letters and a half", "\\\\ud83d\ud83d", "\\\\ud83d\ufffd"],
  ];
  test.each(halves)("holds no half character: %s", (_name, text, expected) => {
    const call = build.toolCall({
      name: text,
      arguments: "{}",
      toolCallId: "c",
      fidelity: { deep: [{ [text]: text }] },
    });
    const line = encode(call);
    expect(line).not.toMatch(/(?<!\\)(?:\\\\)*\\ud[89a-f]/);
    expect(decoded(line).payload).toMatchObject({ name: expected, fidelity: { deep: [{ [expected]: expected }] } });
  });

  test("is as JSON.stringify writes it when nothing is wrong with it", () => {
    const message = build.toolCallOutput({ output: 'a "b"\n\t\u0000é漢🐧', toolCallId: "c" });
    expect(encode(message)).toBe(JSON.stringify(message));
  });
});

describe("a secret", () => {
  const key = 'sk-"quoted"\\key';
  const guarded = createRecordEncoder([key, "short", "sk-plain-key-0123"]);

  test("never reaches a line, neither as text nor in the arguments of a tool", () => {
    const call = build.toolCall({ name: "t", arguments: JSON.stringify({ key }), toolCallId: "c" });
    expect(decoded(guarded(call)).payload).toMatchObject({ arguments: '{"key":"[redacted]"}' });
    const text = guarded(build.userText(`${key} and sk-plain-key-0123`));
    expect(decoded(text).payload).toMatchObject({ text: "[redacted] and [redacted]" });
  });

  test("that is an ordinary word is left alone", () => {
    expect(decoded(guarded(build.userText("short"))).payload).toMatchObject({ text: "short" });
  });
});

describe("decodeLine", () => {
  test("never throws, and takes for a message only what is one", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string({ unit: "binary" }), fc.json()), (text) => {
        expect(["message", "unreadable", "invalid"]).toContain(decodeLine(text).kind);
      }),
    );
  });

  test("tells a cut line from JSON that is no message", () => {
    expect(decodeLine('{"timestamp":"2026').kind).toBe("unreadable");
    expect(decodeLine('{"timestamp":"2026"}').kind).toBe("invalid");
    expect(decodeLine("null").kind).toBe("invalid");
  });
});
