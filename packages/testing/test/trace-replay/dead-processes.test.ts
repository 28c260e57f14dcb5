import { type CompactionSettings, isPayload, type OmniMessage, userText } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { fakeEnvironment, MemoryTrace, replay, scriptedLLM, type ScriptedStep } from "../../src/index.ts";
import { allow, collect, recorded, startProcess } from "./support.ts";

const go = [userText("go")];
const compaction: CompactionSettings = {
  maxContextLength: 100,
  maxSessionTurns: -1,
  mode: "summarize",
  prompt: "Summarize.",
};

async function expectSame(contexts: readonly OmniMessage[][]): Promise<void> {
  expect((await replay(recorded(contexts))).summary).toMatch(/: the same$/);
}

function saying(text: string, total = 10): ScriptedStep {
  return { text, usage: { total } };
}

describe("a Trace replays to the same", () => {
  it("with a context whose opening was cut behind any of its texts, and what a resume added to it", async () => {
    const overflow: ScriptedStep = { end: "failed", outcome: { contextOverflow: true, errorMessage: "too long" } };
    const { engine, trace } = startProcess({
      llm: scriptedLLM([saying("hello"), overflow, saying("[summary]so far[/summary]")]),
      nextLlm: scriptedLLM([saying("done")]),
      environment: fakeEnvironment({}),
      compaction,
    });
    await collect(engine.run(go));
    await collect(engine.run([userText("again"), userText("again"), userText("and more")]));
    const [first = [], second = []] = trace.contexts;
    const opening = second.findIndex((message) => isPayload(message, "request_begin"));
    expect(opening).toBe(6);
    // Before its first text it is not there.
    for (let kept = 3; kept <= opening; kept += 1) {
      const contexts = [first, second.slice(0, kept)];
      const environment = fakeEnvironment({});
      const llms = { llm: scriptedLLM([saying("resumed")]), nextLlm: scriptedLLM([saying("resumed")]) };
      const next = startProcess({ ...llms, environment, compaction, contexts });
      await collect(next.engine.run([userText("go on")]));
      await expectSame(next.trace.contexts);
      expect(JSON.stringify(next.trace.newest).match(/"again"/g)).toHaveLength(2);
    }
  });

  it("with a notice that compacting does not help, once in each process", async () => {
    const first = startProcess({
      llm: scriptedLLM([saying("hello", 500), saying("[summary]so far[/summary]")]),
      nextLlm: scriptedLLM([saying("still long", 500)]),
      environment: fakeEnvironment({}),
      compaction,
    });
    await collect(first.engine.run(go));
    await collect(first.engine.run([userText("more")]));
    const second = startProcess({
      llm: scriptedLLM([saying("long as ever", 510)]),
      environment: fakeEnvironment({}),
      compaction,
      contexts: first.trace.contexts,
    });
    await collect(second.engine.run([userText("and more")]));
    const notices = second.trace.records.filter((message) => isPayload(message, "notice"));
    expect(notices.map(({ payload }) => payload)).toMatchObject([
      { code: "compaction_off" },
      { code: "compaction_off" },
    ]);
    await expectSame(second.trace.contexts);
  });

  it("with what was said in one go behind an answer", async () => {
    const { engine, trace } = startProcess({
      llm: scriptedLLM([saying("first"), saying("second")]),
      environment: fakeEnvironment({}),
    });
    await collect(engine.run(go), (message) => {
      if (!isPayload(message, "text") || message.payload.text !== "first") return;
      for (const text of ["left", "right", "stop"]) engine.steer(text);
    });
    expect(trace.newest.filter(({ payload }) => "role" in payload && payload.role === "user")).toHaveLength(4);
    await expectSame(trace.contexts);
  });

  it("with a disk that refused any one of its records, held it, and wrote it before the next", async () => {
    const steps: ScriptedStep[] = [{ text: "Look.", calls: [{ name: "a" }, { name: "b" }] }, { text: "Done." }];
    for (let refused = 1; refused <= 12; refused += 1) {
      const environment = fakeEnvironment({ a: () => "A", b: () => "B" });
      const { engine, trace } = startProcess({ llm: scriptedLLM(steps), environment });
      let written = 0;
      trace.write = async (message) => {
        written += 1;
        await MemoryTrace.prototype.write.call(trace, message);
        if (written === refused) throw new Error("no space (at all)");
      };
      await collect(engine.run(go, { approve: allow }));
      expect(trace.records.filter((message) => isPayload(message, "notice"))).toHaveLength(1);
      await expectSame(trace.contexts);
    }
  });
});
