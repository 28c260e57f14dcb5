import {
  abortEvent,
  assistantText,
  compactionBegin,
  compactionEnd,
  emptyTokenCounts,
  type EngineState,
  isPayload,
  missingRecords,
  type OmniMessage,
  replayTrace,
  requestBegin,
  requestEnd,
  thinking,
  tokenUsage,
  toolCall,
  toolCallOutput,
  toolListReady,
  userText,
} from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { describeMessage, expectPaired, meta, sent } from "./support.ts";

const usage = tokenUsage({ session: emptyTokenCounts(), request: emptyTokenCounts() });
const call = (toolCallId: string, given = "{}"): OmniMessage =>
  toolCall({ name: "look", arguments: given, toolCallId });
const output = (toolCallId: string, text = `seen by ${toolCallId}`): OmniMessage =>
  toolCallOutput({ output: text, toolCallId });
const harness = (text: string): OmniMessage => userText(text, { sender: "harness" });

/** A Task of two turns, as it is recorded. */
const whole = [
  meta,
  userText("the question"),
  toolListReady([]),
  requestBegin(),
  thinking("hm"),
  assistantText("I look."),
  call("a"),
  call("b"),
  usage,
  requestEnd("completed"),
  output("b"),
  output("a"),
  requestBegin(),
  assistantText("the answer"),
  usage,
  requestEnd("completed"),
];

/** What a resume would begin with; a second one must find nothing more to write. */
function resumed(records: readonly OmniMessage[]): EngineState {
  const missing = missingRecords(records, () => 0);
  expect(missingRecords([...records, ...missing], () => 0)).toEqual([]);
  const state = replayTrace([...records, ...missing]);
  expectPaired([...state.history, ...state.carryOver]);
  return state;
}

function told(records: readonly OmniMessage[]): string[] {
  const { history, carryOver } = resumed(records);
  return [...history, ...carryOver].map(describeMessage);
}

function without(...left: OmniMessage[]): OmniMessage[] {
  return whole.filter((record) => !left.includes(record));
}

const all = told(whole);

describe("a line that names the Session again", () => {
  it.each(whole.map((record, index) => [index + 1, describeMessage(record)]))(
    "drops nothing of what was said when it stands behind line %i, %s",
    (line) => {
      const later = { ...meta, timestamp: "2026-01-02T00:00:00.000Z" };
      expect(told([...whole.slice(0, line), meta, ...whole.slice(line)])).toEqual(all);
      expect(told([...whole.slice(0, line), later, ...whole.slice(line)])).toEqual(all);
    },
  );

  it("begins nothing when the whole file stands twice in one", () => {
    expect(told([...whole, ...whole])).toEqual(all);
    expect(told([...whole, ...whole, userText("more")])).toEqual([...all, "user: more"]);
  });

  it("is the beginning of the next context behind a compaction", () => {
    const compacted = [
      ...whole,
      compactionBegin({ reason: "manual", mode: "summarize", context: 0, turns: 2 }),
      harness("Summarize."),
      requestBegin(),
      assistantText("[summary]all[/summary]"),
      requestEnd("completed"),
      compactionEnd({ reason: "manual", mode: "summarize", status: "completed" }),
    ];
    for (const records of [compacted, [...compacted, meta], [...compacted, meta, toolListReady([])]]) {
      const { fromCompaction, pendingSummary, history } = resumed(records);
      expect(history).toEqual([]);
      expect(fromCompaction).toBe(true);
      expect(pendingSummary?.payload).toMatchObject({ text: "[context_summary]all[/context_summary]" });
    }
    const next = [harness("[context_summary]all[/context_summary]"), userText("more")];
    const { fromCompaction, pendingSummary, carryOver } = resumed([...compacted, meta, ...next]);
    expect([fromCompaction, pendingSummary]).toEqual([false, undefined]);
    expect(sent(carryOver)).toEqual(sent(next));
  });
});

describe("a call that is recorded", () => {
  it.each([6, 7])("twice is made once: line %i", (line) => {
    const record = whole[line] as OmniMessage;
    expect(told([...whole.slice(0, line), record, ...whole.slice(line)])).toEqual(all);
    expect(told([...whole.slice(0, 10), record, ...whole.slice(10)])).toEqual(all);
  });

  it("twice in a turn that was not committed is told once", () => {
    const [told] = resumed([meta, userText("go"), requestBegin(), call("a"), call("a"), output("a")]).carryOver;
    const text = told !== undefined && isPayload(told, "text") ? told.payload.text : "";
    expect(text.match(/=== tool call look/g)).toHaveLength(1);
    expect(text.match(/=== tool output/g)).toHaveLength(1);
  });

  it("with the id of another gets one of its own, and the output that follows that of the other", () => {
    const calls = [call("a", '{"at":1}'), call("a", '{"at":2}'), call("a~2"), call("a", '{"at":2}')];
    const begun = [meta, userText("go"), requestBegin(), ...calls, usage, requestEnd("completed")];
    const outputs = [output("a", "one"), output("a~2", "three"), output("a", "two"), output("a", "too many")];
    expect(told([...begun, ...outputs, abortEvent()])).toEqual([
      "user: go",
      "call a look",
      "call a~2 look",
      "call a~2~2 look",
      "output a: one",
      "output a~2: two",
      "output a~2~2: three",
    ]);
    expect(told([...begun.slice(0, -2), ...outputs, usage, requestEnd("completed"), abortEvent()])).toEqual(
      told([...begun, ...outputs, abortEvent()]),
    );
  });

  it("a hundred thousand times with one id, and something else each time, has as many ids", () => {
    const count = 100_000;
    const calls = Array.from({ length: count }, (_, index) => call("a", `{"at":${index}}`));
    const { history } = replayTrace([meta, userText("go"), requestBegin(), ...calls, requestEnd("completed")]);
    expect(history).toHaveLength(count + 1);
    expect(history.at(-1)?.payload).toMatchObject({ tool_call_id: `a~${count}` });
  });
});

describe("a turn whose request_begin cannot be read", () => {
  it.each([
    ["the first", 3],
    ["one behind outputs", 12],
  ])("is history like any other: %s", (_name, line) => {
    expect(told(without(whole[line] as OmniMessage))).toEqual(all);
    expect(resumed(without(whole[line] as OmniMessage)).sessionTurns).toBe(2);
  });

  it("counts as failed when its end says so, and what it did is told", () => {
    const failed = [call("c"), requestEnd("failed", { error_message: "no" }), output("c"), abortEvent("no")];
    const { history, carryOver } = resumed([...whole, userText("more"), ...failed]);
    expect(history.map(describeMessage)).toEqual(all);
    expect(carryOver).toHaveLength(1);
    expect(carryOver[0]?.payload).toMatchObject({
      text: expect.stringMatching(/^\[turn_aborted\][^]*more[^]*tool call look, id c[^]*seen by c/),
    });
  });

  it("goes on with the attempt that was announced", () => {
    const begun = [...whole, userText("more"), requestBegin(), call("c")];
    const failed = [requestEnd("timeout", { retry_in_ms: 1 }), output("c")];
    const retried = [assistantText("done"), usage, requestEnd("completed")];
    const exact = told([...begun, ...failed, requestBegin(), ...retried]);
    expect(exact.join()).toMatch(/turn_retried[^]*seen by c[^]*assistant: done/);
    expect(told([...begun, ...failed, ...retried])).toEqual(exact);
  });

  it("is what its writer left out when there is no request at all: each answer is history", () => {
    const records = [
      meta,
      userText("one"),
      call("a"),
      call("b"),
      output("a"),
      output("b"),
      assistantText("first"),
      userText("two"),
      assistantText("second"),
    ];
    expect(told(records)).toEqual([
      "user: one",
      "call a look",
      "call b look",
      "output a: seen by a",
      "output b: seen by b",
      "assistant: first",
      "user: two",
      "assistant: second",
    ]);
    expect(missingRecords(records, () => 0)).toEqual([]);
    expect(told([...records, userText("three"), requestBegin(), assistantText("third"), usage]).at(-1)).toBe(
      "assistant: third",
    );
    expect(told([...records.slice(0, 5), abortEvent()]).at(-1)).toMatch(
      /^output b: .interrupted: tool aborted by user/,
    );
    expect(told(records.slice(0, 5)).at(-1)).toMatch(/^output b: \[interrupted: process exited/);
  });

  it("is none where the run came to its last turn", () => {
    const stopped = [
      ...whole.slice(0, 12),
      userText("[user_steering]and hurry[/user_steering]"),
      assistantText("[reached max turns (1); stopping]", { stopReason: "failed" }),
    ];
    expect(missingRecords(stopped, () => 0)).toEqual([]);
    const { history, carryOver } = resumed(stopped);
    expect(history.map(describeMessage)).not.toContain("assistant: [reached max turns (1); stopping] (failed)");
    expect(carryOver.map(describeMessage)).toEqual([
      "output a: seen by a",
      "output b: seen by b",
      "user: [user_steering]and hurry[/user_steering]",
    ]);
  });
});

describe("what a model says behind its token_usage", () => {
  it("belongs to the turn before, and its call keeps its output", () => {
    const [usageAt, callAt] = [8, 7];
    const swapped = [...whole];
    [swapped[usageAt], swapped[callAt]] = [whole[callAt] as OmniMessage, whole[usageAt] as OmniMessage];
    expect(told(swapped)).toEqual(all);
  });
});

describe("what was cut behind its token_usage", () => {
  it("is no answer of its own, and changes nothing of what is sent", () => {
    const cut = toolCall({ name: "look", arguments: "{", toolCallId: "c", stopReason: "malformed" });
    const late = [thinking("and", { stopReason: "malformed" }), assistantText("so", { stopReason: "malformed" }), cut];
    expect(told([...whole.slice(0, 9), ...late, ...whole.slice(9)])).toEqual(all);
    expect(told([...whole.slice(0, 15), ...late, ...whole.slice(15)])).toEqual(all);
    const asked = [...whole.slice(0, 9), output("a"), output("b"), cut, requestEnd("completed"), userText("and now")];
    expect(sent(resumed(asked).carryOver)).toEqual(sent([output("a"), output("b"), userText("and now")]));
  });
});

describe("a turn behind a compaction whose end cannot be read", () => {
  const begun = compactionBegin({ reason: "context", mode: "summarize", context: 0, turns: 1 });
  const answered = [requestBegin(), call("c"), usage, requestEnd("completed"), output("c")];

  it.each([
    ["gave up", [requestEnd("failed", { error_message: "no" })]],
    ["had its summary", [assistantText("[summary]all[/summary]"), usage, requestEnd("completed")]],
  ])("is known with its calls: one that %s", (_name, ending) => {
    const records = [...whole.slice(0, 12), begun, harness("Summarize."), requestBegin(), ...ending, ...answered];
    const texts = told(records);
    expect(texts.slice(0, 6)).toEqual(all.slice(0, 6));
    expect(texts.slice(-2)).toEqual(["call c look", "output c: seen by c"]);
  });

  it("is no second try of the summary, whether that was asked for or announced", () => {
    const tries = [
      requestBegin(),
      requestEnd("timeout", { retry_in_ms: 1 }),
      requestBegin(),
      assistantText("hm"),
      requestEnd("completed"),
      harness("The reply held no summary."),
      requestBegin(),
      assistantText("[summary]all[/summary]"),
      requestEnd("completed"),
      compactionEnd({ reason: "context", mode: "summarize", status: "completed" }),
    ];
    const { fromCompaction, pendingSummary } = resumed([...whole, begun, harness("Summarize."), ...tries]);
    expect(fromCompaction).toBe(true);
    expect(pendingSummary?.payload).toMatchObject({ text: "[context_summary]all[/context_summary]" });
  });
});
