import { describe, expect, test } from "vitest";
import {
  addTokenCounts,
  createBuilders,
  emptyTokenCounts,
  isoTimestamp,
  type OmniMessage,
  parseOmniMessage,
  safeParseOmniMessage,
  steeringText,
  userText,
  withOrigin,
} from "../src/index.ts";
import { at, eventMessage, modelMessage, startTime } from "./support/builders.ts";

const counts = { input: 1, cache_read: 2, cache_write: 3, output: 4, total: 10 };

const cases: [name: string, built: OmniMessage, expected: unknown][] = [
  ["userText", at.userText("hi"), modelMessage({ type: "text", role: "user", text: "hi" })],
  [
    "userText of the harness",
    at.userText("hi", { sender: "harness" }),
    modelMessage({ type: "text", role: "user", text: "hi", sender: "harness" }),
  ],
  [
    "userImage",
    at.userImage("data:image/png;base64,AA=="),
    modelMessage({ type: "image_url", role: "user", image_url: "data:image/png;base64,AA==" }),
  ],
  ["assistantText", at.assistantText("yes"), modelMessage({ type: "text", role: "assistant", text: "yes" })],
  [
    "assistantText with all options",
    at.assistantText("yes", { stopReason: "timeout", fidelity: { id: "m1" } }),
    modelMessage({ type: "text", role: "assistant", text: "yes", stop_reason: "timeout", fidelity: { id: "m1" } }),
  ],
  ["thinking", at.thinking("hm"), modelMessage({ type: "thinking", role: "assistant", thinking: "hm" })],
  [
    "toolCall",
    at.toolCall({ name: "read_file", arguments: "{}", toolCallId: "c1" }),
    modelMessage({ type: "tool_call", role: "assistant", name: "read_file", arguments: "{}", tool_call_id: "c1" }),
  ],
  [
    "toolCallOutput leaves out an empty list of images",
    at.toolCallOutput({ output: "ok", toolCallId: "c1", images: [] }),
    modelMessage({ type: "tool_call_output", role: "user", output: "ok", tool_call_id: "c1" }),
  ],
  [
    "toolCallOutput with all options",
    at.toolCallOutput({ output: "ok", toolCallId: "c1", images: ["data:,"], stopReason: "failed" }),
    modelMessage({
      type: "tool_call_output",
      role: "user",
      output: "ok",
      images: ["data:,"],
      tool_call_id: "c1",
      stop_reason: "failed",
    }),
  ],
  [
    "partialText",
    at.partialText("delta", "a"),
    modelMessage({ type: "partial_text", role: "assistant", event_type: "delta", text: "a" }),
  ],
  [
    "partialText that stops early",
    at.partialText("stop", "", "aborted"),
    modelMessage({ type: "partial_text", role: "assistant", event_type: "stop", text: "", stop_reason: "aborted" }),
  ],
  [
    "partialThinking",
    at.partialThinking("start"),
    modelMessage({ type: "partial_thinking", role: "assistant", event_type: "start", thinking: "" }),
  ],
  [
    "partialToolCall",
    at.partialToolCall({ eventType: "start", name: "read_file", toolCallId: "c1" }),
    modelMessage({
      type: "partial_tool_call",
      role: "assistant",
      event_type: "start",
      name: "read_file",
      arguments: "",
      tool_call_id: "c1",
    }),
  ],
  [
    "partialToolCallOutput",
    at.partialToolCallOutput({ eventType: "delta", toolCallId: "c1", output: "line" }),
    modelMessage({
      type: "partial_tool_call_output",
      role: "user",
      event_type: "delta",
      output: "line",
      tool_call_id: "c1",
    }),
  ],
  ["requestBegin", at.requestBegin(), eventMessage({ type: "request_begin" })],
  ["requestEnd", at.requestEnd("completed"), eventMessage({ type: "request_end", status: "completed" })],
  [
    "requestEnd drops details that are undefined",
    at.requestEnd("timeout", { attempt: 1, retry_in_ms: 250, error_message: undefined, finish_reason: undefined }),
    eventMessage({ type: "request_end", status: "timeout", attempt: 1, retry_in_ms: 250 }),
  ],
  [
    "approvalDecision",
    at.approvalDecision("forbidden", "c1"),
    eventMessage({ type: "approval_decision", decision: "forbidden", tool_call_id: "c1" }),
  ],
  [
    "tokenUsage",
    at.tokenUsage({ session: counts, request: counts }),
    eventMessage({ type: "token_usage", session: counts, request: counts }),
  ],
  [
    "compactionBegin",
    at.compactionBegin({ reason: "context", mode: "summarize", context: 9, turns: 2 }),
    eventMessage({ type: "compaction_begin", reason: "context", mode: "summarize", context: 9, turns: 2 }),
  ],
  [
    "compactionEnd",
    at.compactionEnd({ reason: "manual", mode: "discard", status: "failed", error_message: undefined }),
    eventMessage({ type: "compaction_end", reason: "manual", mode: "discard", status: "failed" }),
  ],
  ["abortEvent without a reason", at.abortEvent(undefined, []), eventMessage({ type: "abort" })],
  ["abortEvent", at.abortEvent(null, ["wait"]), eventMessage({ type: "abort", reason: null, undelivered: ["wait"] })],
  ["subagentEvent", at.subagentEvent("s1"), eventMessage({ type: "subagent", session_id: "s1" })],
  [
    "toolListReady",
    at.toolListReady([{ name: "t", description: "d" }]),
    eventMessage({ type: "tool_list_ready", tools: [{ name: "t", description: "d" }] }),
  ],
  [
    "notice",
    at.notice("warning", "disk_full", "The disk is full."),
    eventMessage({ type: "notice", level: "warning", code: "disk_full", message: "The disk is full." }),
  ],
  [
    "sessionMeta",
    at.sessionMeta({
      session_id: "s",
      provider: "p",
      model_id: "m",
      model_context_window: 0,
      system_prompt: "",
      agent_state: "/a",
      workspace: "/w",
    }),
    {
      timestamp: startTime,
      type: "session_meta",
      payload: {
        session_id: "s",
        provider: "p",
        model_id: "m",
        model_context_window: 0,
        system_prompt: "",
        agent_state: "/a",
        workspace: "/w",
      },
    },
  ],
];

describe("builders", () => {
  test.each(cases)("%s makes the whole message", (_name, built, expected) => {
    expect(built).toStrictEqual(expected);
  });

  test.each(cases)("%s makes a message that parses", (_name, built) => {
    expect(parseOmniMessage(built)).toBe(built);
  });

  test("each message is stamped by the injected clock", () => {
    let now = 0;
    const build = createBuilders(() => now);
    expect(build.requestBegin().timestamp).toBe("1970-01-01T00:00:00.000Z");
    now = 1500;
    expect(build.requestBegin().timestamp).toBe("1970-01-01T00:00:01.500Z");
  });

  test("the free builders stamp by the wall clock", () => {
    const before = Date.now();
    const stamped = Date.parse(userText("hi").timestamp);
    expect(stamped).toBeGreaterThanOrEqual(before);
    expect(stamped).toBeLessThanOrEqual(Date.now());
  });

  test("a timestamp goes back and forth without remembering the wrong text", () => {
    expect([1, 2, 1].map(isoTimestamp)).toEqual([
      "1970-01-01T00:00:00.001Z",
      "1970-01-01T00:00:00.002Z",
      "1970-01-01T00:00:00.001Z",
    ]);
  });
});

describe("withOrigin", () => {
  test("puts the outer id in front of deeper ones and leaves the message as it was", () => {
    const message = at.requestBegin();
    const child = withOrigin(message, "inner");
    expect(withOrigin(child, "outer")).toStrictEqual({ ...message, origin: ["outer", "inner"] });
    expect(message).not.toHaveProperty("origin");
    expect(child.origin).toEqual(["inner"]);
  });
});

describe("token counts", () => {
  test("add up field by field", () => {
    expect(addTokenCounts(counts, { ...emptyTokenCounts(), output: 5, total: 5 })).toEqual({
      input: 1,
      cache_read: 2,
      cache_write: 3,
      output: 9,
      total: 15,
    });
  });

  test("an empty count is a fresh object of zeros", () => {
    expect(emptyTokenCounts()).toEqual({ input: 0, cache_read: 0, cache_write: 0, output: 0, total: 0 });
    expect(emptyTokenCounts()).not.toBe(emptyTokenCounts());
  });
});

test("`completed` is left unsaid by every builder of a message that can end", () => {
  const stopReason = "completed";
  const said = [
    at.assistantText("a", { stopReason }),
    at.thinking("a", { stopReason }),
    at.toolCall({ name: "n", arguments: "{}", toolCallId: "c", stopReason }),
    at.toolCallOutput({ output: "o", toolCallId: "c", stopReason }),
    at.partialText("stop", "", stopReason),
    at.partialThinking("stop", "", stopReason),
    at.partialToolCall({ eventType: "stop", name: "n", toolCallId: "c", stopReason }),
    at.partialToolCallOutput({ eventType: "stop", toolCallId: "c", stopReason }),
  ];
  for (const { payload } of said) expect(payload).not.toHaveProperty("stop_reason");
});

describe("half a character", () => {
  test("becomes a whole one in what a person says and in what is given back", () => {
    expect(at.userText("a\ud83d b").payload.text).toBe("a\ufffd b");
    expect(at.userText(steeringText("\udc27")).payload.text).toBe("[user_steering]\ufffd[/user_steering]");
    expect(at.abortEvent(undefined, ["\ud83d", "🐧"]).payload.undelivered).toEqual(["\ufffd", "🐧"]);
  });

  test("stays in a fragment, whose other half may come with the next", () => {
    expect(at.partialText("delta", "\ud83d").payload.text).toBe("\ud83d");
  });

  test("is looked for in texts alone: what is no text is left to whoever takes it", () => {
    const text = undefined as unknown as string;
    expect(safeParseOmniMessage(at.userText(text)).ok).toBe(false);
  });
});
