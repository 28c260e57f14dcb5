import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { isPayload } from "@coxswain/protocol";
import { afterEach, expect, test } from "vitest";
import { createPlace, ended, isAlive, type Place, program, readTrace, said, startCox } from "./support.ts";

/** Says that it runs, in words that its own text does not hold, and does not listen. */
const stubborn =
  "trap '' TERM INT HUP; echo $$ > pid; sleep 300 & echo $! >> pid; printf 'stub%s\\n' born; while true; do sleep 0.2; done";

const stubbornPids: number[] = [];

afterEach(() => {
  // Gone already, unless a test has failed.
  for (const pid of stubbornPids.splice(0)) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      continue;
    }
  }
});

async function startStubborn(place: Place) {
  const step = { calls: [{ name: "exec_command", arguments: { cmd: stubborn } }] };
  await place.write("workspace/s.yaml", JSON.stringify({ steps: [step, { text: "never said" }] }));
  const child = startCox(["run", "--scenario", "s.yaml", "--approve", "allow", "--json", "go"], {
    place,
    stdin: { open: true },
  });
  const result = ended(child);
  await said(child.stdout, "stubborn");
  const pids = (await readFile(join(place.workspace, "pid"), "utf8")).trim().split("\n").map(Number);
  stubbornPids.push(...pids);
  return { child, result, pids };
}

async function expectNoneAlive(pids: number[]): Promise<void> {
  expect(pids).toHaveLength(2);
  expect(await Promise.all(pids.map(isAlive))).toEqual([false, false]);
}

test.each(["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT"] as const)(
  "%s ends a Task with exit code 130, records it, and leaves no process of a command",
  async (signal) => {
    await using place = await createPlace();
    const { child, result, pids } = await startStubborn(place);
    child.kill(signal);
    expect(await result).toMatchObject({ code: 130, signal: null });
    await expectNoneAlive(pids);
    const [trace = ""] = await place.traceFiles();
    expect((await readTrace(trace)).at(-1)?.payload.type).toBe("abort");
  },
);

test("a second interrupt ends at once, and still leaves no process of a command", async () => {
  await using place = await createPlace();
  const { child, result, pids } = await startStubborn(place);
  child.kill("SIGINT");
  await said(child.stdout, '"abort"');
  child.kill("SIGINT");
  expect((await result).code).toBe(130);
  await expectNoneAlive(pids);
});

test("what an interrupt left unsent goes out when the session goes on without a prompt", async () => {
  await using place = await createPlace();
  const { child, result } = await startStubborn(place);
  child.kill("SIGINT");
  await result;
  const [trace = ""] = await place.traceFiles();
  const id = (await readTrace(trace)).flatMap((message) =>
    message.type === "session_meta" ? message.payload.session_id : [],
  )[0];
  const resumed = await ended(startCox(["run", "--session", id ?? "", "--approve", "deny"], { place }));
  expect(resumed.code).toBe(0);
});

test("a reader that leaves interrupts quietly", async () => {
  await using place = await createPlace();
  const words = "word ".repeat(4000);
  await place.write("workspace/s.yaml", JSON.stringify({ steps: [{ text: `first line\n${words}` }] }));
  const command = `"$0" "$1" run --scenario s.yaml go 2>stderr.txt | head -n 1; echo "\${PIPESTATUS[0]}"`;
  const env = { PATH: process.env["PATH"] ?? "", HOME: place.root, COXSWAIN_HOME: place.home };
  const shell = spawn("bash", ["-c", command, process.execPath, program], { cwd: place.workspace, env });
  let stdout = "";
  shell.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  await once(shell, "close");
  expect(stdout).toMatch(/^\[This is Coxswain's built-in offline model.*\n130\n$/);
  expect(await readFile(join(place.workspace, "stderr.txt"), "utf8")).toBe("");
});

test("an interrupt ends a Task whose reader has stopped reading", async () => {
  await using place = await createPlace();
  await place.write("workspace/s.yaml", JSON.stringify({ steps: [{ text: "x".repeat(2_000_000) }] }));
  const child = startCox(["run", "--scenario", "s.yaml", "go"], { place, stdin: { open: true } });
  await once(child.stdout, "readable");
  child.stdout.pause();
  child.kill("SIGINT");
  const [code] = (await once(child, "exit")) as [number];
  expect(code).toBe(130);
});

test.runIf(existsSync("/dev/full"))("a full disk under standard output is told of, with exit code 1", async () => {
  await using place = await createPlace();
  await place.write("workspace/s.yaml", "steps:\n  - text: hello\n");
  const env = { PATH: process.env["PATH"] ?? "", HOME: place.root, COXSWAIN_HOME: place.home };
  const command = '"$0" "$1" run --scenario s.yaml go > /dev/full';
  const shell = spawn("bash", ["-c", command, process.execPath, program], { cwd: place.workspace, env });
  let stderr = "";
  shell.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  const [code] = (await once(shell, "close")) as [number];
  expect(stderr).toContain("cox: standard output cannot be written (ENOSPC)");
  expect(code).toBe(1);
});

test("an approval that nobody was asked for is recorded as denied", async () => {
  await using place = await createPlace();
  const result = await ended(startCox(["run", "--provider", "offline", "--approve", "deny", "go"], { place }));
  expect(result.code).toBe(0);
  const [trace = ""] = await place.traceFiles();
  const decisions = (await readTrace(trace)).filter((message) => isPayload(message, "approval_decision"));
  expect(decisions.map(({ payload }) => payload.decision)).toEqual(["deny"]);
});
