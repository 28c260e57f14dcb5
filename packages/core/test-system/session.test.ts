import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ConfigError, createAgent, isPayload, projectPaths, userText } from "@coxswain/core";
import { expect, it, onTestFinished, vi } from "vitest";
import { playTraces } from "../../testing/test/every-trace.ts";
import { makePlace, type Place, removePlace, secret } from "./support/sandboxed-world.ts";

async function configured(sandbox: string, commands: readonly string[]): Promise<Place> {
  const place = await makePlace();
  vi.stubEnv("HOME", place.home);
  onTestFinished(async () => {
    vi.unstubAllEnvs();
    await playTraces(projectPaths(place.coxswainHome, "default_project", "default_agent").tracesDir);
    await removePlace(place);
  });
  const scenario = join(place.outsideDir, "scenario.yaml");
  const steps = commands.map((cmd) => ({ calls: [{ name: "exec_command", arguments: { cmd } }] }));
  await writeFile(scenario, JSON.stringify({ steps: [...steps, { text: "done" }] }));
  await mkdir(join(place.coxswainHome, "default_project"));
  await writeFile(
    join(place.coxswainHome, "default_project", "project_config.toml"),
    `default_model = { provider = "offline", model_id = ${JSON.stringify(scenario)} }\nsandbox = "${sandbox}"\n`,
  );
  return place;
}

it("a Session whose Project asks for a sandbox runs its commands in it, also when it is resumed", async () => {
  const place = await configured("strict", [
    "echo x > inside && cat inside",
    "echo x > ~/made",
    "cat ~/.ssh/id_test || cat ~/.coxswain/default_project/project_config.toml",
    "tail -n +3 /proc/net/dev | cut -d: -f1",
  ]);
  const agent = await createAgent({ home: place.coxswainHome, systemPrompt: "test" });
  const first = await agent.createSession({ workspaceDir: place.workspaceDir });
  const { id } = first;
  await first.dispose();
  const session = await agent.resumeSession(id);
  onTestFinished(() => session.dispose());
  const outputs: string[] = [];
  for await (const message of session.run([userText("go")], { approve: async () => "allow" })) {
    if (isPayload(message, "tool_call_output")) outputs.push(message.payload.output);
  }
  expect(outputs[0]).toBe("x\n[exit code: 0]");
  expect(outputs[1]).toMatch(/made: Read-only file system\n\[exit code: 1\]$/);
  expect(outputs[2]).toMatch(/project_config.toml: No such file or directory\n\[exit code: 1\]$/);
  expect(outputs[3]?.trim()).toBe("lo\n[exit code: 0]");
  expect(outputs.join("\n")).not.toContain(secret);
});

it("a Session that cannot have its sandbox is not opened, and leaves no Trace", async () => {
  const place = await configured("workspace", []);
  const agent = await createAgent({ home: place.coxswainHome, systemPrompt: "test" });
  const opening = agent.createSession({ workspaceDir: join(place.home, ".ssh") });
  await expect(opening).rejects.toThrow(ConfigError);
  await expect(opening).rejects.toThrow(
    `${place.coxswainHome}/default_project/project_config.toml: sandbox is "workspace", but commands cannot see`,
  );
  const sessions = [];
  for await (const summary of agent.listSessions()) sessions.push(summary);
  expect(sessions).toEqual([]);
});
