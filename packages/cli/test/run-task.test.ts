import { createAgent, createLanguageModel, systemClock } from "@coxswain/core";
import { type OmniMessage, userText } from "@coxswain/protocol";
import { expect, test } from "vitest";
import type { Decision } from "../src/approval.ts";
import { OutputStream } from "../src/output/output-stream.ts";
import { Screen } from "../src/output/screen.ts";
import { runTask } from "../src/run-task.ts";
import { createPlace } from "./support.ts";

const settings = { provider: "offline", modelId: "s", protocol: "offline", contextWindow: 0, vision: false } as const;

async function turnsOfTheEventLoop(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
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
  const output = new OutputStream({ stream: process.stderr, signal, onError: () => undefined });
  const screen = new Screen({ stdout: output, stderr: output, env: {} });
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
    decider: () => async (call) => {
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
