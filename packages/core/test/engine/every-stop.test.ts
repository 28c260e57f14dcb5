import { ContextEngine, isPartial, missingRecords, type OmniMessage, replayTrace } from "@coxswain/core";
import { MemoryTrace, scriptedLLM, type ScriptedStep } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { allow, ask, collect, expectPaired, expectSound, meta, sent, setUp } from "./support.ts";

const steps: readonly ScriptedStep[] = [
  { thinking: "Two at once.", text: ["Let me ", "look."], calls: [{ name: "talks" }, { name: "quick" }] },
  { text: "Half of", calls: [{ name: "quick", id: "call_retried" }], end: "timeout" },
  { text: "Whole.", calls: [{ name: "quick" }] },
  { text: "Done." },
];

const tools = {
  quick: () => "Q",
  talks: async function* () {
    yield "one ";
    yield "two";
  },
};

function freshSetUp() {
  const bench = setUp(steps, tools);
  // Waits pass by themselves: this is about where a run stops, not when.
  bench.clock.sleep = () => Promise.resolve();
  return bench;
}

/** All that a model would be told next. */
function told(history: readonly OmniMessage[], carryOver: readonly OmniMessage[]): string {
  return JSON.stringify(sent([...history, ...carryOver]));
}

describe("a run that stops at any of its messages", async () => {
  const whole = await collect(freshSetUp().engine.run(ask("the task"), { approve: allow }));

  it("is closed, pairs its calls, keeps what was asked, and goes on", async () => {
    expect(whole.length).toBeGreaterThan(40);
    for (let stopAfter = 0; stopAfter < whole.length; stopAfter += 1) {
      const bench = freshSetUp();
      const controller = new AbortController();
      const stream: OmniMessage[] = [];
      for await (const message of bench.engine.run(ask("the task"), { approve: allow, signal: controller.signal })) {
        stream.push(message);
        if (stream.length === stopAfter + 1) controller.abort();
      }
      expect(stream.at(-1)?.payload.type).toBe("abort");
      expectSound(bench, stream);
      expect(told(bench.engine.state.history, bench.engine.state.carryOver)).toContain("the task");
      await collect(bench.engine.run(ask("go on"), { approve: allow }));
      const { history, carryOver } = bench.engine.state;
      expectPaired([...history, ...carryOver]);
      expect(told(history, carryOver)).toContain("go on");
      const ids = bench.environment.executed.map((call) => call.payload.tool_call_id);
      expect(new Set(ids).size).toBe(ids.length);
    }
  });
});

describe("a process that dies after any of its records", async () => {
  const bench = freshSetUp();
  await collect(bench.engine.run(ask("the task"), { approve: allow }));
  const records = bench.trace.records;

  it("is resumed with paired calls, what was asked, and nothing to write a second time", async () => {
    for (let kept = 2; kept <= records.length; kept += 1) {
      const prefix = records.slice(0, kept);
      const missing = missingRecords(prefix, () => 0);
      const resumed = [...prefix, ...missing];
      expect(missingRecords(resumed, () => 0)).toEqual([]);
      const state = replayTrace(resumed);
      expectPaired([...state.history, ...state.carryOver]);
      expect(told(state.history, state.carryOver)).toContain("the task");
      expect(sent(state.carryOver)).toEqual(sent(replayTrace(prefix).carryOver));

      const llm = scriptedLLM([{ text: "resumed" }]);
      const trace = new MemoryTrace();
      trace.contexts.splice(0, 1, [...resumed]);
      const engine = new ContextEngine({
        llm,
        environment: bench.environment,
        trace,
        sessionMeta: meta,
        initialState: state,
      });
      await collect(engine.run(ask("go on")));
      expect(sent([...state.history, ...(llm.requests[0]?.newMessages ?? [])])).toEqual(
        sent(engine.state.history.slice(0, -1)),
      );
      // Read back once more, the file says the same as the engine that wrote it.
      expect(sent(replayTrace(trace.newest).history)).toEqual(sent(engine.state.history));
    }
  });

  it("is told the same as one that was interrupted there, apart from the reason", async () => {
    const placeholder = /\[interrupted: [^\]]*\]/g;
    for (let kept = 2; kept < records.length; kept += 1) {
      const prefix = records.slice(0, kept);
      const died = replayTrace([...prefix, ...missingRecords(prefix, () => 0)]);
      const closing = missingRecords(prefix, () => 0).map(
        (record): OmniMessage =>
          record.type === "event_msg" && record.payload.type === "abort"
            ? { ...record, payload: { type: "abort" } }
            : record,
      );
      const stopped = replayTrace([...prefix, ...closing]);
      expect(told(died.history, died.carryOver).replaceAll(placeholder, "…")).toBe(
        told(stopped.history, stopped.carryOver).replaceAll(placeholder, "…"),
      );
    }
  });
});

describe("partials", () => {
  it("are never written", async () => {
    const bench = freshSetUp();
    await collect(bench.engine.run(ask("the task"), { approve: allow }));
    expect(bench.trace.records.filter(isPartial)).toEqual([]);
  });
});
