import { mkdir, readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAgent, isPayload, type OmniMessage, projectPaths, userText } from "@coxswain/core";
import { describe, expect, it, vi } from "vitest";
import { playTraces } from "../../../testing/test/every-trace.ts";
import { atEnd, collect, temporaryDirectory } from "./support.ts";

const configuredKey = "configured-key-0123456789";
const inheritedKey = "inherited-key-9876543210";

/** A Session in which the model makes these calls, one request after the other. */
async function play(calls: readonly { name: string; arguments: object }[]) {
  const root = await temporaryDirectory();
  const [home, workspaceDir] = [join(root, "home"), join(root, "workspace")];
  const scenario = join(root, "scenario.yaml");
  await mkdir(join(home, "default_project"), { recursive: true });
  await mkdir(workspaceDir);
  await writeFile(scenario, JSON.stringify({ steps: [...calls.map((call) => ({ calls: [call] })), { text: "done" }] }));
  await writeFile(
    join(home, "default_project", "project_config.toml"),
    `default_model = { provider = "offline", model_id = ${JSON.stringify(scenario)} }
[[models]]
provider = "offline"
model_id = ${JSON.stringify(scenario)}
[[models]]
provider = "other"
model_id = "m"
protocol = "openai-chat"
base_url = "http://127.0.0.1:1/v1"
api_key = "${configuredKey}"
[[command_policy.deny]]
name = "no-force-push"
pattern = 'git push.*--force'
`,
    { mode: 0o600 },
  );
  vi.stubEnv("OPENAI_API_KEY", inheritedKey);
  vi.stubEnv("COXSWAIN_HOME", home);
  atEnd(async () => void vi.unstubAllEnvs());
  const session = await (await createAgent({ home, systemPrompt: "test" })).createSession({ workspaceDir });
  atEnd(() => playTraces(projectPaths(home, "default_project", "default_agent").tracesDir));
  atEnd(() => session.dispose());
  const asked: string[] = [];
  const messages = await collect(
    session.run([userText("go")], {
      approve: async ({ payload }) => {
        asked.push(payload.arguments);
        return "allow";
      },
    }),
  );
  await session.dispose();
  return { messages, asked, records: await recordsBelow(home), workspaceDir };
}

/** Everything that was written below the home, but for the configuration. */
async function recordsBelow(home: string): Promise<string> {
  const names = await readdir(join(home, "default_project", "agents"), { recursive: true, withFileTypes: true });
  const files = names.filter((entry) => entry.isFile());
  return (await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), "utf8")))).join("\n");
}

function outputs(messages: readonly OmniMessage[]): string[] {
  return messages.flatMap((message) => (isPayload(message, "tool_call_output") ? [message.payload.output] : []));
}

describe("a command that a rule denies", () => {
  it("is recorded as forbidden, asks nobody and never starts", async () => {
    const cmd = "touch started; git push --force";
    const played = await play([
      { name: "exec_command", arguments: { cmd } },
      { name: "input_command", arguments: { process_id: "p", chars: "git push origin --force\n" } },
      { name: "exec_command", arguments: { cmd: "echo fine" } },
    ]);
    const decisions = played.messages.flatMap(({ payload }) =>
      payload.type === "approval_decision" ? [payload.decision] : [],
    );
    expect(decisions).toEqual(["forbidden", "forbidden", "allow"]);
    expect(outputs(played.messages).slice(0, 2)).toEqual([
      "Tool call denied by policy.",
      "Tool call denied by policy.",
    ]);
    expect(played.asked).toEqual(['{"cmd":"echo fine"}']);
    expect(played.records.match(/"decision":"forbidden"/g)).toHaveLength(2);
    expect(await readdir(played.workspaceDir)).toEqual([]);
  });
});

describe("a key that we hold", () => {
  it("is in nothing that a command prints, and in no Trace", async () => {
    const halves = [configuredKey.slice(0, 9), configuredKey.slice(9)];
    const played = await play([
      { name: "exec_command", arguments: { cmd: `printf %s ${halves[0]}; true; echo ${halves[1]}` } },
      { name: "exec_command", arguments: { cmd: `printf '\\033[1m${halves[0]}\\033[0m${halves[1]}\\n' >&2; exit 3` } },
      { name: "exec_command", arguments: { cmd: `echo ${inheritedKey}` } },
      { name: "read_file", arguments: { file_path: configuredKey } },
    ]);
    expect(outputs(played.messages)).toEqual([
      "[redacted]\n[exit code: 0]",
      "[redacted]\n[exit code: 3]",
      "[redacted]\n[exit code: 0]",
      expect.stringContaining("[redacted]"),
    ]);
    expect(played.records).toContain("[redacted]");
    for (const key of [configuredKey, inheritedKey]) expect(played.records).not.toContain(key);
  });

  it("is not in the environment of a command, and neither is what concerns us", async () => {
    const { messages } = await play([
      { name: "exec_command", arguments: { cmd: "env | cut -d= -f1 | grep -E 'KEY|COXSWAIN'" } },
    ]);
    expect(outputs(messages)).toEqual(["COXSWAIN_COMMAND\n[exit code: 0]"]);
  });

  it("gets through once a command has written it in another way", async () => {
    const { messages } = await play([
      {
        name: "exec_command",
        arguments: { cmd: `printf %s ${configuredKey} | base64; printf %s ${configuredKey} | rev` },
      },
    ]);
    expect(outputs(messages)[0]).toContain(Buffer.from(configuredKey).toString("base64"));
  });
});
