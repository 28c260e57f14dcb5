import { expect, test } from "vitest";
import { callOf, createWorld, run } from "./support.ts";
import { createBackgroundWorld, makeGate } from "./support/background.ts";

const secret = "sk-SECRETKEY-1234567890abcdef";
const secrets = [secret];
const part = secret.slice(0, 12);

/** Texts in which the secret ends around the given length, where it would be cut. */
function around(length: number): string[] {
  return [2, secret.length - 3, secret.length + 8].map((before) => `${"x".repeat(length - before)} ${secret} yyyy`);
}

test("what is quoted of arguments that are none is masked before it is cut", async () => {
  const { environment } = await createWorld({ secrets });
  for (const text of [...around(200), `{"cmd": "${secret}`, `{"cmd": ${secret}}`, `{} ${secret}`]) {
    const quoted = [text, JSON.stringify(text), `{"cmd": "${text}`];
    for (const args of quoted) {
      const { output, status } = await run(environment, "exec_command", args);
      expect(status).toBe("failed");
      expect(output).toMatch(/The arguments (are not valid JSON|must be one JSON object)/);
      for (let start = 0; start + 6 <= secret.length; start++)
        expect(output).not.toContain(secret.slice(start, start + 6));
    }
    expect((await run(environment, text, {})).output).not.toContain(part);
  }
});

test("a command is masked before it is cut in a report, in its summary and in the list of those that run", async () => {
  const world = await createBackgroundWorld({ secrets });
  const open = makeGate(world);
  const commands = [...around(200), ...around(1000)].map((text) => `read x < gate; : ${text.slice(17)}`);
  for (const cmd of commands) await world.start(cmd);
  const asked = await world.call("input_command", { process_id: "none" });
  expect(asked.output).toContain("In the background run: ");
  expect(asked.output).not.toContain(part);
  open(commands.length);
  for (const { text, summary } of await world.reported(commands.length)) {
    expect(text).not.toContain(part);
    expect(summary).not.toContain(part);
  }
});

test("an id that is none and what is to be typed are masked before they are cut", async () => {
  const world = await createBackgroundWorld({ secrets });
  for (const process_id of around(100)) {
    expect((await world.call("kill_command", { process_id })).output).not.toContain(part);
  }
  const process_id = await world.start("exec cat", { stdin: true });
  for (const chars of around(300)) {
    const preview = await world.environment.preview(callOf("input_command", { process_id, chars }));
    expect(preview?.summary).toContain("Type ");
    expect(preview?.summary).not.toContain(part);
  }
});
