import { contextSummaryText, extractSummary, toolCallOutput, userText } from "@coxswain/core";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterEach, describe, expect, it } from "vitest";
import { ManualClock } from "@coxswain/testing";
import { GenerativeModel } from "../../src/llm/context/generative-model.ts";
import { defaultScenario } from "../../src/llm/offline/default-scenario.ts";
import { createOfflineModel } from "../../src/llm/offline/model.ts";
import { parseScenario, ScenarioError, type Scenario } from "../../src/llm/offline/scenario.ts";
import { createLanguageModel } from "../../src/llm/create-language-model.ts";
import { calls, chatSettings, generate, generousLimits, texts, undisciplined } from "./support/generate.ts";

function context(scenario: Scenario, clock = new ManualClock()) {
  const model = createOfflineModel({ scenario, clock });
  return { clock, llm: new GenerativeModel({ model, systemPrompt: "s", limits: generousLimits, clock }) };
}

describe("the offline model", () => {
  it("says in its first line what it is, and at the end that the scenario is over", async () => {
    const { llm } = context({ steps: [{ text: "Hello there.\n  Second line." }, { text: "Again." }] });
    const first = await generate(llm);
    expect(texts(first.messages)[0]).toMatch(
      /^\[This is Coxswain's built-in offline model.*\]\nHello there\.\n  Second line\.$/,
    );
    expect(first.messages.filter((message) => message.payload.type === "partial_text").length).toBeGreaterThan(8);
    expect(undisciplined(first.messages)).toEqual([]);
    expect(texts((await generate(llm)).messages)).toEqual(["Again."]);
    expect(texts((await generate(llm)).messages)[0]).toContain("scenario is over");
  });

  it("calls tools with the arguments of the scenario, also broken ones", async () => {
    const step = {
      thinking: "hm",
      calls: [
        { name: "x", arguments: '{"p":1}' },
        { name: "y", arguments: '{"p":' },
      ],
    };
    const { llm } = context({ steps: [step, { text: "done" }] });
    const { messages, outcome } = await generate(llm);
    expect(outcome).toMatchObject({ status: "completed", finishReason: "tool_calls" });
    expect(calls(messages).map((call) => `${call.name} ${call.arguments}`)).toEqual(['x {"p":1}', 'y {"p":']);
    expect(undisciplined(messages)).toEqual([]);
    const outputs = calls(messages).map(({ id }) => toolCallOutput({ output: "o", toolCallId: id }));
    expect(texts((await generate(llm, { newMessages: outputs })).messages)).toEqual(["done"]);
  });

  it.each(["failed", "timeout", "malformed", "auth"] as const)("plays a request that ends as %s", async (end) => {
    const { llm } = context({ steps: [{ text: "half", end }, { text: "whole" }] });
    const { messages, outcome } = await generate(llm);
    expect(outcome.status).toBe(end);
    expect(outcome.errorMessage).toContain(end);
    expect(undisciplined(messages)).toEqual([]);
    expect(texts((await generate(llm)).messages)).toEqual(["whole"]);
  });

  it("waits as long as the scenario says, by the given clock", async () => {
    const { llm, clock } = context({ steps: [{ text: "a", delayMs: 5_000 }] });
    const stream = llm.streamGenerate({ newMessages: [userText("hi")] });
    const first = stream.next();
    await clock.nextSleep();
    while (!clock.sleeping.includes(5_000)) await Promise.resolve();
    clock.advance(5_000);
    expect((await first).done).toBe(false);
    await stream.return({ status: "aborted" });
    expect(clock.sleeping).toEqual([]);
  });

  it("summarises without taking a step", async () => {
    const { llm } = context({ steps: [{ text: "one" }] });
    const { messages } = await generate(llm, { purpose: "summary" });
    expect(texts(messages)[0]).toMatch(/^\[summary\][\s\S]+\[\/summary\]$/);
    expect(texts((await generate(llm)).messages)[0]).toContain("one");
  });

  it("goes on after its summary where it was, also in another process", async () => {
    const scenario = { steps: [{ text: "one" }, { text: "two" }, { text: "three" }, { text: "four" }] };
    const { llm } = context(scenario);
    await generate(llm);
    await generate(llm);
    const reply = texts((await generate(llm, { purpose: "summary" })).messages)[0] ?? "";
    const summary = userText(contextSummaryText(extractSummary(reply) ?? ""));
    const later = context(scenario).llm;
    expect(texts((await generate(later, { newMessages: [summary, userText("go")] })).messages)).toEqual(["three"]);
    const [again = ""] = texts((await generate(later, { purpose: "summary" })).messages);
    expect(again).toContain("steps 1 to 3 ");
    const muchLater = context(scenario).llm;
    await generate(muchLater, { newMessages: [summary], purpose: "summary" });
    expect(texts((await generate(muchLater, { newMessages: [summary] })).messages)).toEqual(["three"]);
  });

  it("puts the last process_id that an output told for its placeholder, and leaves that alone before one is told", async () => {
    const look = {
      calls: [{ name: "input_command", arguments: '{"process_id":"{{PROCESS_ID}}","again":"{{PROCESS_ID}}"}' }],
    };
    const start = { calls: [{ name: "exec_command", arguments: "{}" }] };
    const { llm } = context({ steps: [look, start, look, look] });
    const replyTo = async (output: string | undefined, ids: string[]) => {
      const newMessages = ids.map((toolCallId) => toolCallOutput({ output: output ?? "", toolCallId }));
      return calls((await generate(llm, { newMessages: [...newMessages, userText("go")] })).messages);
    };
    const [early] = await replyTo(undefined, []);
    expect(early?.arguments).toContain('"process_id":"{{PROCESS_ID}}"');
    const [started] = await replyTo("[there is no such command]", [early?.id ?? ""]);
    const output = "[still running; process_id: 00000000aa]\nready\n[still running; process_id: 0a1b2c3d4e]";
    const [look1] = await replyTo(output, [started?.id ?? ""]);
    expect(look1?.arguments).toBe('{"process_id":"0a1b2c3d4e","again":"0a1b2c3d4e"}');
    const [look2] = await replyTo('no id; process_id: "}, {"]', [look1?.id ?? ""]);
    expect(look2?.arguments).toBe('{"process_id":"0a1b2c3d4e","again":"0a1b2c3d4e"}');
  });

  it("finds the process_id of an interrupted turn in what is told of it", async () => {
    const { llm } = context({
      steps: [{ calls: [{ name: "kill_command", arguments: '{"process_id":"{{PROCESS_ID}}"}' }] }],
    });
    const carried = userText("[turn_aborted]\n[still running; process_id: 0a1b2c3d4e]\n[/turn_aborted]");
    const { messages } = await generate(llm, { newMessages: [carried] });
    expect(calls(messages)[0]?.arguments).toBe('{"process_id":"0a1b2c3d4e"}');
  });

  it("has a scenario of its own that lists the files", () => {
    expect(defaultScenario.steps[0]?.calls?.[0]?.name).toBe("list_files");
  });
});

describe("scenario files", () => {
  it("are read", async () => {
    const text = [
      "steps:",
      "  - thinking: hm",
      "    text: |",
      "      Two",
      "      lines",
      "    calls:",
      "      - name: read_file",
      "        arguments: { file_path: a.txt }",
      "      - { name: list_items }",
      "    delay_ms: 20",
      "  - end: timeout",
    ].join("\n");
    expect(await parseScenario(text, "s.yaml")).toEqual({
      steps: [
        {
          thinking: "hm",
          text: "Two\nlines\n",
          calls: [
            { name: "read_file", arguments: '{"file_path":"a.txt"}' },
            { name: "list_items", arguments: "{}" },
          ],
          delayMs: 20,
        },
        { end: "timeout" },
      ],
    });
  });

  it.each([
    ["steps:\n  - text: [", /^s\.yaml:\d: not readable as YAML/],
    ["- a", /^s\.yaml:1: the file must be a mapping/],
    ["steps:\n  - text: a\n  - text: 3", /^s\.yaml:3: steps\[1\]\.text must be a text, not 3/],
    ["steps:\n  - txet: a", /^s\.yaml:2: steps\[0\]\.txet is not known here; known are thinking/],
    ["steps:\n  - calls:\n      - arguments: {}", /^s\.yaml:3: steps\[0\]\.calls\[0\]\.name must be/],
    ["steps:\n  - delay_ms: -1", /^s\.yaml:2: steps\[0\]\.delay_ms must be milliseconds/],
    ["steps:\n  - end: soon", /^s\.yaml:2: steps\[0\]\.end must be one of completed/],
    ["", /^s\.yaml:1: the file must be a mapping/],
  ])("say in one line what is wrong: %j", async (text, expected) => {
    const error: unknown = await parseScenario(text, "s.yaml").catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(ScenarioError);
    expect((error as Error).message).toMatch(expected);
    expect((error as Error).message).not.toContain("\n");
  });

  it("of any text are read or refused in words", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.string(),
          fc.json().map((value) => `steps: ${value}`),
        ),
        async (text) => {
          const result: unknown = await parseScenario(text, "s.yaml").catch((reason: unknown) => reason);
          if (result instanceof Error) expect(result).toBeInstanceOf(ScenarioError);
        },
      ),
    );
  });
});

describe("createLanguageModel", () => {
  const directories: string[] = [];
  afterEach(async () => {
    for (const directory of directories.splice(0)) await rm(directory, { recursive: true });
  });

  it("reads a scenario for the offline model", async () => {
    const directory = await mkdtemp(join(tmpdir(), "scenario-"));
    directories.push(directory);
    const scenarioPath = join(directory, "s.yaml");
    await writeFile(scenarioPath, "steps:\n  - text: from a file\n");
    const clock = new ManualClock();
    const settings = { ...chatSettings(""), protocol: "offline" as const };
    const model = await createLanguageModel(settings, { clock, scenarioPath });
    const { messages } = await generate(
      new GenerativeModel({ model, systemPrompt: "", limits: generousLimits, clock }),
    );
    expect(texts(messages)[0]).toContain("from a file");
  });
});
