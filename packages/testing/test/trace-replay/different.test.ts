import { isPayload, type OmniMessage, userText } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { fakeEnvironment, replay, scriptedLLM } from "../../src/index.ts";
import { allow, collect, meta, recorded, startProcess } from "./support.ts";

async function writtenTrace(): Promise<OmniMessage[]> {
  const { engine, trace } = startProcess({
    llm: scriptedLLM([
      { text: "half", end: "timeout", outcome: { errorMessage: "gone" } },
      { text: "Let me look.", calls: [{ name: "a" }, { name: "b" }] },
      { text: "bye" },
      { text: "Done." },
    ]),
    environment: fakeEnvironment({ a: () => "A", b: () => "B" }),
  });
  await collect(engine.run([userText("go")], { approve: allow }), (message) => {
    if (isPayload(message, "text") && message.payload.text === "bye") engine.steer("wait");
  });
  return trace.newest;
}

function indexOf(records: readonly OmniMessage[], type: string, nth = 0): number {
  return records.flatMap(({ payload }, index) => (payload.type === type ? [index] : []))[nth] ?? -1;
}

function changed(records: readonly OmniMessage[], index: number, fields: object): OmniMessage[] {
  const record = records[index] as OmniMessage;
  return records.with(index, { ...record, payload: { ...record.payload, ...fields } } as OmniMessage);
}

describe("the first difference is told", () => {
  it.each<[string, (records: OmniMessage[]) => OmniMessage[], RegExp]>([
    [
      "a field that the engine writes",
      (records) => changed(records, indexOf(records, "request_end"), { attempt: 4 }),
      /^record 6 of context 1, payload, attempt:\n {2}expected 4\n {2}found {4}1$/,
    ],
    [
      "a record that is not there",
      (records) => records.toSpliced(indexOf(records, "approval_decision"), 1),
      /cannot be played again: record \d+ of context 1 \(tool_call_output\) answers a call that nobody decided/,
    ],
    [
      "a record that stands elsewhere",
      (records) => {
        const usage = indexOf(records, "token_usage");
        return records.toSpliced(usage, 1).toSpliced(usage + 3, 0, records[usage] as OmniMessage);
      },
      /^record \d+ of context 1:\n {2}expected .*"token_usage".*\n {2}found {4}nothing: the engine waits$/,
    ],
    [
      "counts that are no sums",
      (records) => changed(records, indexOf(records, "token_usage", 1), { session: { total: 99 } }),
      /payload, session, input:\n {2}expected 99\n {2}found {4}20$/,
    ],
    [
      "a field that no engine of today writes",
      (records) => changed(records, indexOf(records, "tool_list_ready"), { tools: [], note: "x".repeat(500) }),
      /^record 3 of context 1, payload, note:\n {2}expected "x{40,}…\n {2}found {4}nothing$/,
    ],
  ])("%s", async (_, change, words) => {
    const records = await writtenTrace();
    expect((await replay(recorded([records]))).outcome).toBe("same");
    expect((await replay(recorded([change(records)]))).summary).toMatch(words);
  });

  it("is a difference when an engine would have asked again", async () => {
    const records = await writtenTrace();
    const end = indexOf(records, "request_end");
    const altered = structuredClone(records);
    Reflect.deleteProperty(altered[end]?.payload ?? {}, "retry_in_ms");
    const report = await replay(recorded([altered]));
    expect(report.outcome).toBe("different");
    expect(report.difference?.place).toBe("record 6 of context 1, payload, retry_in_ms");
  });
});

describe("what cannot be played again is said in words", () => {
  it.each<[string, (records: OmniMessage[]) => OmniMessage[], RegExp]>([
    ["no session_meta", (records) => records.slice(1), /does not begin with the session_meta/],
    [
      "an engine that listed no tools",
      (records) => records.filter((message) => !isPayload(message, "tool_list_ready")),
      /record 3 of context 1 \(request_begin\) comes before any list of tools/,
    ],
    [
      "steering of an older engine",
      (records) =>
        records.toSpliced(
          indexOf(records, "tool_call_output", 1) + 1,
          0,
          userText("<user_steering>left</user_steering>"),
        ),
      /\(text\) is a user's message in the middle of a Task/,
    ],
    [
      "an output without its call",
      (records) => records.filter((message) => !isPayload(message, "tool_call")),
      /decides a call that is not there/,
    ],
    ["nothing at all", () => [], /does not begin/],
    [
      "a request without its end",
      (records) => records.toSpliced(indexOf(records, "request_end", 1), 1),
      /\(request_begin\) begins while the request before it has no end/,
    ],
    ["a record twice", (records) => [...records, records.at(-1) as OmniMessage], /\(request_end\) ends no request/],
  ])("%s", async (_, change, words) => {
    const report = await replay(recorded([change(await writtenTrace())]));
    expect(report.outcome).toBe("unplayable");
    expect(report.obstacle).toMatch(words);
    expect(report.requests).toEqual([]);
  });

  it("a line that cannot be read, unless its process died there", async () => {
    const records = await writtenTrace();
    const report = await replay(recorded([records], { gaps: [4], skippedLines: [5] }));
    expect(report.summary).toMatch(/cannot be played again: a line after record 4 of context 1 cannot be read/);
    for (let kept = 2; kept <= records.length; kept += 1) {
      const contexts = [records.slice(0, kept)];
      const next = startProcess({
        llm: scriptedLLM([{ text: "resumed" }]),
        environment: fakeEnvironment({}),
        contexts,
      });
      await collect(next.engine.run([userText("go on")]));
      const torn = recorded(next.trace.contexts, { gaps: [kept], skippedLines: [kept + 1] });
      expect((await replay(torn)).summary, `record ${kept + 1} is torn`).toMatch(/: the same$/);
    }
  });

  it("a line that cannot be read, unless whoever repaired what a death left died there too", async () => {
    const records = await writtenTrace();
    const contexts = [records.slice(0, indexOf(records, "request_end", 1))];
    const next = startProcess({ llm: scriptedLLM([{ text: "resumed" }]), environment: fakeEnvironment({}), contexts });
    await collect(next.engine.run([userText("go on")]));
    const repaired = indexOf(next.trace.newest, "request_end", 1);
    expect(next.trace.newest[repaired + 1]?.payload).toMatchObject({ type: "abort", reason: "process exited" });
    const torn = recorded(next.trace.contexts, {
      gaps: [repaired, repaired + 1],
      skippedLines: [repaired + 1, repaired + 3],
    });
    expect((await replay(torn)).summary).toMatch(/: the same$/);
  });

  it("a context that follows none that was compacted", async () => {
    const records = await writtenTrace();
    const report = await replay(recorded([records, [meta, userText("more")]]));
    expect(report.obstacle).toMatch(/record 1 of context 2 \(session_meta\) opens a context/);
  });
});
