import { describe, expect, expectTypeOf, test } from "vitest";
import {
  type CompleteModelPayload,
  type EventPayload,
  isCompleted,
  isCompleteModelMessage,
  isEventMessage,
  isModelMessage,
  isPartial,
  isPayload,
  isSessionMeta,
  type ModelPayload,
  type OmniMessage,
  type PartialPayload,
  type SessionMetaPayload,
  stopReasons,
  type ToolCallPayload,
  unreachable,
} from "../src/index.ts";
import { at } from "./support/builders.ts";

const meta = at.sessionMeta({
  session_id: "s",
  provider: "p",
  model_id: "m",
  model_context_window: 1,
  system_prompt: "",
  agent_state: "/a",
  workspace: "/w",
});

describe("guards", () => {
  const rows: [string, OmniMessage, boolean[]][] = [
    ["session_meta", meta, [true, false, false, false, false]],
    ["a complete message", at.assistantText("a"), [false, true, false, false, true]],
    ["a fragment", at.partialText("delta", "a"), [false, true, false, true, false]],
    ["an event", at.requestBegin(), [false, false, true, false, false]],
  ];
  test.each(rows)("%s is told apart", (_name, message, expected) => {
    const guards = [isSessionMeta, isModelMessage, isEventMessage, isPartial, isCompleteModelMessage];
    expect(guards.map((guard) => guard(message))).toEqual(expected);
  });

  test("isPayload is true for its type alone", () => {
    const call: OmniMessage = at.toolCall({ name: "n", arguments: "", toolCallId: "c" });
    expect(isPayload(call, "tool_call")).toBe(true);
    expect(isPayload(call, "tool_call_output")).toBe(false);
    expect(isPayload(meta, "text")).toBe(false);
  });

  test("guards narrow the payload for the compiler", () => {
    const read = (message: OmniMessage): void => {
      if (isSessionMeta(message)) expectTypeOf(message.payload).toEqualTypeOf<SessionMetaPayload>();
      if (isModelMessage(message)) expectTypeOf(message.payload).toEqualTypeOf<ModelPayload>();
      if (isEventMessage(message)) expectTypeOf(message.payload).toEqualTypeOf<EventPayload>();
      if (isPartial(message)) expectTypeOf(message.payload).toEqualTypeOf<PartialPayload>();
      if (isCompleteModelMessage(message)) expectTypeOf(message.payload).toEqualTypeOf<CompleteModelPayload>();
      if (isPayload(message, "tool_call")) {
        expectTypeOf(message.payload).toEqualTypeOf<ToolCallPayload>();
        expectTypeOf(message.type).toEqualTypeOf<"model_msg">();
      }
    };
    read(meta);
  });

  test("type and payload cannot disagree for the compiler", () => {
    // @ts-expect-error an event's payload in a model message
    const wrong: OmniMessage = { timestamp: "", type: "model_msg", payload: { type: "request_begin" } };
    expect(wrong).toBeDefined();
  });

  test("isCompleted is true of the word and of silence", () => {
    const reasons = [undefined, ...stopReasons];
    expect(reasons.filter((reason) => isCompleted({ stop_reason: reason }))).toEqual([undefined, "completed"]);
    expect(isCompleted(at.assistantText("a").payload)).toBe(true);
  });

  test("unreachable names the value that nobody handled", () => {
    const surprise = JSON.parse('{"kind":"new"}') as never;
    expect(() => unreachable(surprise)).toThrow('unhandled value: {"kind":"new"}');
  });
});
