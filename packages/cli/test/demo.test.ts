import { execFile } from "node:child_process";
import { appendFile, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { expectReplays } from "@coxswain/testing";
import { abortEvent, isPayload } from "@coxswain/protocol";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { cox, type CoxResult, createPlace, ended, type Place, readTrace, said, startCox } from "./support.ts";

const run = promisify(execFile);

async function directoryOf(place: Place): Promise<string> {
  return join(place.root, (await readdir(place.root)).find((name) => name.startsWith("coxswain-demo-")) ?? "");
}

async function tracesOf(place: Place): Promise<{ directory: string; files: string[] }> {
  const directory = join(await directoryOf(place), "home/default_project/agents/default_agent/traces");
  const names = (await readdir(directory, { recursive: true })).filter((name) => name.endsWith(".jsonl"));
  return { directory, files: names.sort().map((name) => join(directory, name)) };
}

/** Starts the demo so that it sends itself a signal the moment it has said these words. */
function startStopping(place: Place, words: string, signal: "SIGINT" | "SIGSTOP") {
  const hook = `const { stderr } = process; const write = stderr.write.bind(stderr);
    stderr.write = (text, ...rest) => {
      const hasRoom = write(text, ...rest);
      if (text.includes(${JSON.stringify(words)})) process.kill(process.pid, "${signal}");
      return hasRoom;
    };`;
  return startCox(["demo"], { place, nodeArgs: ["--import", `data:text/javascript,${encodeURIComponent(hook)}`] });
}

function expectInOrder(text: string, wanted: readonly string[]): void {
  let position = 0;
  for (const words of wanted) {
    const next = text.indexOf(words, position);
    expect([words, next === -1 ? text.slice(position) : "is there"]).toEqual([words, "is there"]);
    position = next + words.length;
  }
}

function expectAllFive({ stdout, stderr }: CoxResult): void {
  const rows = stdout.matchAll(/^ {2}(\w+)[\w, ]*? +(\d+) +(\d+) +(\d+)$/gm);
  expect([...rows].map(([, ...cells]) => cells.join(" "))).toEqual([
    "requests 14 14 14",
    "dropped 1 1 1",
    "steers 1 1 1",
    "interrupts 1 1 1",
    "compactions 1 1 1",
  ]);
  expectInOrder(stderr, [
    "== 1 of 5: A Task ==",
    "2 are running now",
    "[nothing lost]",
    "== 2 of 5: The connection drops ==",
    "[reconnect] ",
    "[sent] [turn_retried]",
    "=== tool call search_files",
    "=== tool output",
    "[/turn_retried]",
    "[nothing lost]",
    "== 3 of 5: Somebody steers ==",
    "[steer] accepted",
    "[done] read_tide",
    "[sent] [user_steering]Who is at the helm?[/user_steering]",
    "[nothing lost]",
    "== 4 of 5: An interrupt",
    "[done] read_file",
    "[aborted] read_tide",
    "[sent] output of read_file",
    "outer quay",
    "[sent] output of read_tide",
    "reading 1",
    "[interrupted: tool aborted by user]",
    "[nothing lost]",
    "== 5 of 5: A compaction ==",
    "[compaction] completed",
    "[sent] [context_summary]",
    "[nothing lost]",
  ]);
}

describe("away from a terminal", () => {
  let place: Place;
  let result: CoxResult;

  beforeAll(async () => {
    place = await createPlace();
    result = await cox(["demo"], { place });
  });

  afterAll(() => place[Symbol.asyncDispose]());

  test("the demo ends by itself, answers its own approvals and says so, and shows all that can happen", () => {
    expect(result.code).toBe(0);
    expect(result.stdout).toMatch(/^\[This is Coxswain's built-in offline model/);
    expect(result.stderr.match(/so the demo answers itself: allow/g)).toHaveLength(2);
    expect(result.stdout).toContain("10 allowed, 0 denied");
    expect(result.stdout).toContain("tool outputs 10, of which 0 failed");
    expectAllFive(result);
  });

  test("its shell commands confirm its summary", async () => {
    const confirmations = result.stdout.split("\n").filter((line) => line.startsWith('  cat "$TRACE"'));
    expect(confirmations).toHaveLength(14);
    const assignment = /^ {2}TRACE=.*$/m.exec(result.stdout)?.[0] ?? "";
    for (const line of confirmations) {
      const { stdout } = await run("bash", ["-c", `${assignment}\n${line}\ntrue`]);
      expect([line, stdout.trim()]).toEqual([line, / {3}# (\d+)/.exec(line)?.[1]]);
    }
  });

  test("what it allows is really done, each call once, and two of them at the same time", async () => {
    const root = await directoryOf(place);
    expect(result.stdout).toContain(`rm -r ${root}`);
    expect(result.stdout).toContain("up to 2 at once");
    expect(await readFile(join(root, "workspace/OPEN.md"), "utf8")).toContain("ask for a berth");
    const { files } = await tracesOf(place);
    expect(files.map((file) => file.slice(-10))).toEqual(["_001.jsonl", "_002.jsonl"]);
    const trace = (await Promise.all(files.map(readTrace))).flat();
    const outputs = trace.filter((message) => isPayload(message, "tool_call_output")).map(({ payload }) => payload);
    const endings = outputs.map((output) => output.stop_reason ?? "completed");
    expect(endings).toEqual([...Array<string>(9).fill("completed"), "aborted"]);
    const calls = trace.filter((message) => isPayload(message, "tool_call"));
    expect(calls).toHaveLength(10);
    const callIds = new Set(calls.map(({ payload }) => payload.tool_call_id));
    expect(new Set(outputs.map((output) => output.tool_call_id))).toEqual(callIds);
  });

  test("its own commands show the Session, replay it to the same, list it and go on with it", async () => {
    const printed = [...result.stdout.matchAll(/^ {2}(?:node \S+|cox) (.*?)(?: {3}# (.*))?$/gm)];
    const answers: CoxResult[] = [];
    for (const [, words = ""] of printed) {
      const args = words.match(/"[^"]*"|\S+/g) ?? [];
      answers.push(
        await cox(
          args.map((word) => word.replaceAll('"', "")),
          { place },
        ),
      );
    }
    const [account, replayed, list, further] = answers;
    expect(answers.map(({ code }) => code)).toEqual([0, 0, 0, 0]);
    const wanted = ["attempt 2", "steering: Who is", "  interrupted\n", "compaction (manual", "Context 2"];
    expectInOrder(account?.stdout ?? "", wanted);
    expect(replayed?.stdout).toMatch(/^14 requests, \d+ records: the same\n$/);
    expect(replayed?.stdout).toBe(`${printed[1]?.[2]}\n`);
    expect(list?.stdout).toMatch(/^session-/);
    expect(further?.stdout).toContain("The scenario is over");
  });
});

test("what is denied in the demo is not done and counted as denied, and all the rest is shown", async () => {
  await using place = await createPlace();
  const result = await cox(["demo", "--approve", "deny"], { place });
  expect(result.code).toBe(0);
  expect(result.stdout).toContain("8 allowed, 2 denied");
  expect(await readdir(join(await directoryOf(place), "workspace"))).not.toContain("OPEN.md");
  expectAllFive(result);
});

test("a Trace that says something else than what was shown ends the demo with exit code 1 and no summary", async () => {
  await using place = await createPlace();
  const child = startStopping(place, "== 3 of 5", "SIGSTOP");
  const result = ended(child);
  await said(child.stderr, "== 3 of 5");
  const [file = ""] = (await tracesOf(place)).files;
  await appendFile(file, `${JSON.stringify(abortEvent())}\n`);
  let goesOn = false;
  child.stderr?.once("data", () => (goesOn = true));
  void result.then(() => (goesOn = true));
  // Its words may be here before it has stopped itself.
  while (!goesOn) {
    child.kill("SIGCONT");
    await new Promise((resolve) => setImmediate(resolve));
  }
  const { code, stdout, stderr } = await result;
  expect(code).toBe(1);
  expect(stderr).toContain("does not say what was seen (");
  expect(stderr).toContain("interrupts: seen 1, recorded 2");
  expect(stdout).not.toContain("Summary, counted");
});

test.each(["[tool] list_files", "[reconnect]", "[steer]", "[interrupt] ", "[prompt] Go on", "[compaction] begins"])(
  "an interrupt at %j ends the demo with exit code 130, without a summary, and leaves a Trace that replays",
  async (moment) => {
    await using place = await createPlace();
    const { code, signal, stdout, stderr } = await ended(startStopping(place, moment, "SIGINT"));
    expect({ code, signal }).toEqual({ code: 130, signal: null });
    expect(stderr).toMatch(/\[demo\] stopped; everything is below \S+\n$/);
    expect(stdout).not.toContain("Summary, counted");
    await expectReplays((await tracesOf(place)).directory);
  },
);
