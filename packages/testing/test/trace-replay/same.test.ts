import {
  createBuilders,
  type EnvironmentInterface,
  isPayload,
  type OmniMessage,
  requestBegin,
  userImage,
  userText,
  withOrigin,
} from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { fakeEnvironment, replay, scriptedLLM, type ScriptedStep } from "../../src/index.ts";
import { allow, collect, recorded, startProcess } from "./support.ts";

const build = createBuilders(() => 0);
const go = [userText("go")];

async function expectSame(contexts: readonly OmniMessage[][]): Promise<void> {
  const report = await replay(recorded(contexts));
  expect(report.summary).toMatch(/: the same$/);
  expect(report.contexts.map((messages) => messages.length)).toEqual(contexts.map((messages) => messages.length));
}

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

describe("a Trace replays to the same", () => {
  it("with what a process left that died after any of its records, and what the next one did", async () => {
    const { engine, trace } = startProcess({ llm: scriptedLLM(steps), environment: fakeEnvironment(tools) });
    await collect(engine.run(go, { approve: allow }));
    const records = trace.records;
    expect(records.length).toBeGreaterThan(25);
    for (let kept = 3; kept <= records.length; kept += 1) {
      await expectSame([records.slice(0, kept)]);
      const next = startProcess({
        llm: scriptedLLM([{ calls: [{ name: "quick", id: "after" }] }, { text: "resumed" }]),
        environment: fakeEnvironment(tools),
        contexts: [records.slice(0, kept)],
      });
      await collect(next.engine.run([userText("go on")], { approve: allow }));
      await expectSame(next.trace.contexts);
    }
  });

  it("with an interrupt after any of its messages, and the Task after it", async () => {
    const count = (await collect(start().engine.run(go, { approve: allow }))).length;
    for (let stopAfter = 0; stopAfter < count; stopAfter += 1) {
      const { engine, trace } = start();
      const controller = new AbortController();
      let seen = 0;
      await collect(engine.run(go, { approve: allow, signal: controller.signal }), () => {
        seen += 1;
        if (seen === stopAfter) engine.steer("not in time");
        if (seen === stopAfter + 1) controller.abort();
      });
      await collect(engine.run([userText("go on")], { approve: allow }));
      await expectSame(trace.contexts);
    }
    function start() {
      return startProcess({ llm: scriptedLLM(steps), environment: fakeEnvironment(tools) });
    }
  });

  it("with a compaction in the middle of a Task, steering in it, one by hand, and a death between two contexts", async () => {
    const big = { input: 100, total: 105 };
    const process = {
      llm: scriptedLLM([{ calls: [{ name: "quick" }], usage: big }, { text: "[summary]so far[/summary]" }]),
      nextLlm: scriptedLLM([{ text: "done" }, { text: "short" }, { text: "fresh" }]),
      environment: fakeEnvironment(tools),
      compaction: { maxContextLength: 100, maxSessionTurns: -1, mode: "summarize", prompt: "Summarize." } as const,
    };
    const { engine, trace } = startProcess(process);
    await collect(engine.run(go, { approve: allow }), (message) => {
      if (isPayload(message, "compaction_begin")) engine.steer("and hurry");
    });
    await collect(engine.compact());
    await expectSame(trace.contexts);
    const before = structuredClone(trace.contexts);
    await collect(engine.run([userText("next")]));
    await expectSame(trace.contexts);
    // Only the file's first line was written when the process died.
    const opened = trace.contexts[2]?.slice(0, 1) ?? [];
    const next = startProcess({ ...process, llm: scriptedLLM([{ text: "again" }]), contexts: before });
    next.trace.contexts.push(opened);
    await collect(next.engine.run([userText("next")]));
    await expectSame(next.trace.contexts);
  });

  it("when only its last model contexts are there", async () => {
    const llm = scriptedLLM([{ text: "answer", usage: { total: 105 } }, { text: "short" }]);
    const compaction = { maxContextLength: 100, maxSessionTurns: -1, mode: "summarize", prompt: "Summarize." } as const;
    const nextLlm = scriptedLLM([{ text: "one" }, { text: "two" }]);
    const { engine, trace } = startProcess({ llm, nextLlm, environment: fakeEnvironment({}), compaction });
    await collect(engine.run(go));
    await collect(engine.run([userText("next")]));
    await collect(engine.run([userText("last")]));
    const later = recorded(trace.contexts).slice(1);
    expect((await replay(later)).summary).toMatch(/^2 requests, \d+ records: the same$/);
  });

  it("with a cap of turns, steering at it, and what the run after it sends", async () => {
    const { engine, trace } = startProcess({
      llm: scriptedLLM([{ calls: [{ name: "quick" }] }, { text: "later" }]),
      environment: fakeEnvironment(tools),
      maxTurns: 1,
    });
    await collect(engine.run([...go, userImage("data:image/png;base64,AAAA")], { approve: allow }), (message) => {
      if (isPayload(message, "tool_call_output")) engine.steer("late");
    });
    await collect(engine.run([]));
    await expectSame(trace.contexts);
  });

  it("with messages of children, notices of tools, servers that connect, and tools that cannot be listed", async () => {
    const child = "session-2026-01-01-00-00-01-11111111";
    const environment: EnvironmentInterface = {
      async *connect() {
        yield {
          timestamp: "2026-01-01T00:00:00.000Z",
          type: "event_msg",
          payload: { type: "mcp_connect_begin", servers: ["a"] },
        };
        yield build.notice("warning", "slow", "a server is slow");
        yield {
          timestamp: "2026-01-01T00:00:00.000Z",
          type: "event_msg",
          payload: { type: "mcp_connect_end", status: "failed", results: [] },
        };
      },
      listTools: () => Promise.reject(new Error("no list")),
      async *executeTool({ toolCall }) {
        yield withOrigin(requestBegin(), child);
        yield build.notice("info", "note", "half done");
        yield withOrigin(requestBegin(), child);
        yield build.toolCallOutput({ toolCallId: toolCall.payload.tool_call_id, output: "ok" });
      },
      toolPermission: () => undefined,
    };
    const llm = scriptedLLM([{ calls: [{ name: "a" }, { name: "a" }] }, { text: "done" }]);
    const { engine, trace } = startProcess({ llm, environment });
    await collect(engine.run(go, { approve: allow }));
    expect(trace.records.filter((message) => isPayload(message, "subagent"))).toHaveLength(1);
    await expectSame(trace.contexts);
  });

  it("with forbidden and denied calls next to allowed ones", async () => {
    const llm = scriptedLLM([
      { calls: [{ name: "no" }, { name: "quick" }, { name: "no" }, { name: "ask" }] },
      { text: "ok" },
    ]);
    const environment = fakeEnvironment(
      { ...tools, no: () => "never", ask: () => "never" },
      { forbids: ({ payload }) => ("name" in payload && payload.name === "no" ? "a rule" : undefined) },
    );
    const { engine, trace } = startProcess({ llm, environment });
    const approve: typeof allow = ({ payload }) => Promise.resolve(payload.name === "ask" ? "deny" : "allow");
    await collect(engine.run(go, { approve }));
    await expectSame(trace.contexts);
  });

  it("with an output that came between a call and what its rule said", async () => {
    let finish: (() => void) | undefined;
    const held = new Promise<void>((resolve) => {
      finish = resolve;
    });
    const environment = fakeEnvironment(
      { slow: () => held.then(() => "S"), no: () => "never" },
      { forbids: ({ payload }) => (payload.name === "no" ? "a rule" : undefined) },
    );
    const { engine, trace } = startProcess({
      environment,
      llm: scriptedLLM([
        async function* () {
          yield build.toolCall({ name: "slow", arguments: "{}", toolCallId: "a" });
          while (environment.executed.length === 0) await new Promise((resolve) => setImmediate(resolve));
          yield build.toolCall({ name: "no", arguments: "{}", toolCallId: "b" });
          finish?.();
          return { status: "completed" };
        },
        { text: "ok" },
      ]),
    });
    await collect(engine.run(go, { approve: allow }));
    const types = trace.newest.map(({ payload }) => payload.type);
    const output = types.indexOf("tool_call_output");
    expect(types.slice(output - 1, output + 3)).toEqual([
      "tool_call",
      "tool_call_output",
      "request_end",
      "approval_decision",
    ]);
    await expectSame(trace.contexts);
  });

  it("gives the requests that were sent, and leaves out what an engine does not know", async () => {
    const { engine, trace } = startProcess({ llm: scriptedLLM([{ text: "hi" }]), environment: fakeEnvironment({}) });
    await collect(engine.run(go));
    const unknown = {
      timestamp: "2026-01-01T00:00:00.000Z",
      type: "event_msg",
      payload: { type: "weather", sky: "blue" },
    };
    trace.newest.splice(3, 0, unknown as unknown as OmniMessage);
    const report = await replay(recorded(trace.contexts));
    expect(report).toMatchObject({ outcome: "same", setAside: ['1 × a record of the unknown kind "weather"'] });
    expect(report.requests.map(({ parameters }) => parameters.newMessages.map(({ payload }) => payload))).toEqual([
      [expect.objectContaining({ text: "go" })],
    ]);
  });
});
