import { createAgent, createLanguageModel, systemClock } from "@coxswain/core";
import { fakeEnvironment, scriptedLLM } from "@coxswain/testing";
import { isPayload, type OmniMessage, userText } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { type Decision, ToolPermissions } from "../src/approval.ts";
import { OutputStream } from "../src/output/output-stream.ts";
import { Screen } from "../src/output/screen.ts";
import { runTask, showNotices } from "../src/run-task.ts";
import { turnsOfTheEventLoop } from "./keyboard.ts";
import { createPlace } from "./support.ts";

const settings = { provider: "offline", modelId: "s", protocol: "offline", contextWindow: 0, vision: false } as const;

function quietScreen(): Screen {
  const { signal } = new AbortController();
  const output = new OutputStream({ stream: process.stderr, signal, onError: () => undefined });
  return new Screen({ stdout: output, stderr: output, env: {} });
}

test("a person is asked about a call that was shown, and nothing moves under the question", async () => {
  await using place = await createPlace();
  const calls = [{ name: "list_files" }, { name: "read_file", arguments: { file_path: "none" } }];
  const scenarioPath = await place.write(
    "s.yaml",
    JSON.stringify({ steps: [{ text: "two", calls }, { text: "end" }] }),
  );
  const model = await createLanguageModel(settings, { clock: systemClock, scenarioPath });
  const agent = await createAgent({ home: place.home, trace: false, model });
  const session = await agent.createSession({ workspaceDir: place.workspace });
  const { signal } = new AbortController();
  const screen = quietScreen();
  const shown: OmniMessage[] = [];
  const asked: string[] = [];
  const moved: number[] = [];
  const question = async (): Promise<Decision> => {
    await turnsOfTheEventLoop(1);
    const before = shown.length;
    await turnsOfTheEventLoop(60);
    moved.push(shown.length - before);
    return "deny";
  };
  const outcome = await runTask({
    session,
    input: [userText("go")],
    screen,
    signal,
    view: { show: async (message) => void shown.push(message), end: async () => undefined },
    permissions: new ToolPermissions(),
    approve: async (call) => {
      expect(
        shown.some(
          (message) =>
            message.payload.type === "tool_call" && message.payload.tool_call_id === call.payload.tool_call_id,
        ),
      ).toBe(true);
      asked.push(call.payload.name);
      return screen.asking(question);
    },
  });
  await session.dispose();
  expect(outcome.exitCode).toBe(0);
  expect(asked).toEqual(["list_files", "read_file"]);
  expect(moved).toEqual([0, 0]);
});

test("of a Session with several Tasks a notice is shown once, and the permissions of its tools hold for all of them", async () => {
  const environment = fakeEnvironment({ look: { permission: "r", run: () => "seen" } });
  const call = { name: "look", arguments: "{}" };
  const llm = scriptedLLM([{ calls: [call] }, { text: "one" }, { calls: [call] }, { text: "two" }]);
  const agent = await createAgent({ trace: false, model: () => llm, environment: () => environment });
  const session = await agent.createSession();
  const shown: OmniMessage[] = [];
  const view = { show: async (message: OmniMessage) => void shown.push(message), end: async () => undefined };
  showNotices(session, view);
  const permissions = new ToolPermissions();
  const { signal } = new AbortController();
  const screen = quietScreen();
  const readOnly: boolean[] = [];
  const approve = async (): Promise<Decision> => {
    readOnly.push(permissions.isReadOnly("look"));
    return "allow";
  };
  for (const prompt of ["first", "second"]) {
    await runTask({ session, input: [userText(prompt)], screen, signal, view, permissions, approve });
  }
  environment.report({ text: "it is over", summary: "it is over" });
  await session.dispose();
  expect(readOnly).toEqual([true, true]);
  expect(shown.filter((message) => isPayload(message, "notice"))).toHaveLength(1);
});
