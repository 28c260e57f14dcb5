import {
  abortEvent,
  approvalDecision,
  assistantText,
  compactionBegin,
  emptyTokenCounts,
  type EngineState,
  type OmniMessage,
  partialText,
  requestBegin,
  requestEnd,
  tokenUsage,
  toolCall,
  toolCallOutput,
  userText,
  withOrigin,
} from "@coxswain/core";
import type { Observation } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { watchAll } from "../src/simulator/invariants/index.ts";

const call = toolCall({ name: "a", arguments: "{}", toolCallId: "c1" });
const second = toolCall({ name: "a", arguments: "{}", toolCallId: "c2" });
const output = toolCallOutput({ toolCallId: "c1", output: "A" });
const beginning: Observation[] = [{ at: "process", number: 1, compactionMode: "summarize", resumed: undefined }];
const runs: Observation = { at: "run", kind: "run", input: [userText("«u1»")] };

const written = (record: OmniMessage): Observation[] => [
  { at: "landed", record, file: 0 },
  { at: "settled", record, isKept: true, blocksEffects: false },
];
const shown = (message: OmniMessage): Observation => ({ at: "showed", message });
const told = (message: OmniMessage): Observation[] => [...written(message), shown(message)];
const request = (input: OmniMessage[], more: Partial<Extract<Observation, { at: "request" }>> = {}): Observation => ({
  at: "request",
  context: 1,
  isStale: false,
  purpose: "turn",
  history: [],
  input,
  ...more,
});
const state: EngineState = {
  meta: null,
  history: [],
  carryOver: [],
  sessionTurns: 0,
  sessionTokens: emptyTokenCounts(),
  lastRequestTotal: 0,
  fromCompaction: false,
};
const ended = (more: Partial<Extract<Observation, { at: "ended" }>["end"]> = {}): Observation => ({
  at: "ended",
  end: { state, modelHistory: [], records: [], isReadToEnd: true, leftovers: [], ...more },
});
const counts = (total: number) => ({ ...emptyTokenCounts(), input: total, total });

/** The first rule that such a life breaks. */
function broken(...seen: (Observation | Observation[])[]): string | undefined {
  const watch = watchAll(1);
  for (const one of [...beginning, ...seen.flat()]) {
    const violation = watch(one);
    if (violation !== undefined) return violation.invariant;
  }
  return undefined;
}

describe("what is wrong is seen", () => {
  it("with nothing wrong, nothing", () => {
    expect(broken(runs, written(userText("«u1»")), told(requestBegin()), request([userText("«u1»")]))).toBeUndefined();
  });

  it.each<[string, (Observation | Observation[])[]]>([
    ["pairing", [request([call, userText("next")])]],
    ["pairing", [request([output])]],
    ["one decision", [runs, request([userText("«u1»")])]],
    ["one decision", [runs, told(requestBegin()), request([userText("never written")])]],
    ["one decision", [runs, told(requestBegin()), told(call), { at: "tool", call }]],
    [
      "one decision",
      [
        runs,
        told(requestBegin()),
        told(call),
        told(approvalDecision("deny", "c1")),
        told(approvalDecision("deny", "c1")),
      ],
    ],
    ["one decision", [runs, told(requestBegin()), told(call), { at: "asked", call }, { at: "asked", call }]],
    ["one decision", [runs, told(requestBegin()), told(call), told(approvalDecision("allow", "c1"))]],
    [
      "one decision",
      [runs, told(requestBegin()), told(call), told(second), { at: "asked", call }, { at: "asked", call: second }],
    ],
    [
      "one decision",
      [
        runs,
        told(requestBegin()),
        told(call),
        { at: "vetoed", toolCallId: "c1" },
        told(approvalDecision("deny", "c1")),
      ],
    ],
    [
      "work told",
      [
        runs,
        told(requestBegin()),
        told(call),
        told(output),
        told(requestEnd("completed")),
        told(requestBegin()),
        request([]),
      ],
    ],
    ["at most once", [runs, { at: "said", message: call }, ...starts(2)]],
    ["at most once", [runs, { at: "said", message: call }, { at: "interrupted", how: "signal" }, ...starts(1)]],
    ["at most once", [runs, told(requestBegin()), told(call), told(output), told(output)]],
    ["nothing lost", [runs, written(userText("«u1»")), ended()]],
    ["nothing lost", [runs, { at: "steered", mark: "«s1»", isAccepted: true }, ended(known())]],
    ["closed segments", [runs, shown(partialText("start")), ended(known())]],
    ["closed segments", [runs, shown(partialText("start")), shown(partialText("start"))]],
    [
      "closed segments",
      [runs, shown(partialText("start")), shown(partialText("stop")), told(assistantText("what no delta said"))],
    ],
    ["one order", [runs, shown(requestBegin())]],
    ["one order", [runs, shown(withOrigin(requestBegin(), "child"))]],
    ["one order", [runs, written(requestBegin()), written(requestEnd("completed")), shown(requestEnd("completed"))]],
    ["brackets", [runs, told(requestBegin()), told(requestBegin())]],
    ["brackets", [runs, told(requestBegin()), told(abortEvent())]],
    ["brackets", [runs, told(requestBegin()), told(compactionBegin(compaction()))]],
    ["ends", [runs, ended({ ...known(), leftovers: ["1 timers"] })]],
    ["ends", [runs, told(abortEvent()), ended(known())]],
    ["accounts", [runs, told(tokenUsage({ session: counts(7), request: counts(5) }))]],
    ["prefix", [runs, told(requestBegin()), request([], { history: [assistantText("never sent")] })]],
    ["prefix", [runs, told(requestBegin()), request([], { isStale: true })]],
    ["replay", [runs, ended({ ...known(), state: { ...known().state, sessionTurns: 3 } })]],
  ])("%s", (rule, seen) => {
    expect(broken(...seen)).toBe(rule);
  });
});

/** A call that was allowed starts so often. */
function starts(times: number): Observation[] {
  const answer: Observation = { at: "decided", toolCallId: "c1", answer: "allow" };
  const allowed = [...told(requestBegin()), ...told(call), answer, ...told(approvalDecision("allow", "c1"))];
  return [...allowed, ...Array.from({ length: times }, (): Observation => ({ at: "tool", call }))];
}

/** The input of the run is owed. */
function known() {
  const input = userText("«u1»");
  return { state: { ...state, carryOver: [input] }, records: [input] };
}

function compaction() {
  return { reason: "manual", mode: "summarize", context: 0, turns: 0 } as const;
}
