import { isCompleteModelMessage, isPartial, isPayload } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { cox, createPlace, ended, parseLines, type Place, readTrace, said, startCox } from "./support.ts";

const offline = ["run", "--provider", "offline", "--approve", "deny"];

async function prompts(place: Place): Promise<string[]> {
  const [trace = ""] = await place.traceFiles();
  const texts = (await readTrace(trace)).filter((message) => isPayload(message, "text"));
  return texts.filter(({ payload }) => payload.role === "user").map(({ payload }) => payload.text);
}

test("the words of the command line are the prompt", async () => {
  await using place = await createPlace();
  expect((await cox([...offline, "say", "hello"], { place })).code).toBe(0);
  expect(await prompts(place)).toEqual(["say hello"]);
});

test("without words the prompt is standard input", async () => {
  await using place = await createPlace();
  expect((await cox(offline, { place, stdin: "a\nb\n" })).code).toBe(0);
  expect(await prompts(place)).toEqual(["a\nb"]);
});

test("a dash puts standard input after the words", async () => {
  await using place = await createPlace();
  expect((await cox([...offline, "review", "-"], { place, stdin: "the diff" })).code).toBe(0);
  expect(await prompts(place)).toEqual(["review\n\nthe diff"]);
});

test("an inherited input that nobody closes does not hold up a prompt that was typed", async () => {
  await using place = await createPlace();
  const child = startCox([...offline, "hello"], { place, stdin: { open: true } });
  expect((await ended(child)).code).toBe(0);
});

test("a wait for standard input is told of, and an interrupt ends it", async () => {
  await using place = await createPlace();
  const child = startCox(offline, { place, stdin: { open: true } });
  const result = ended(child);
  await said(child.stderr, "waiting for the prompt");
  child.kill("SIGINT");
  expect((await result).code).toBe(130);
});

test("input that is no text is refused", async () => {
  await using place = await createPlace();
  const child = startCox(offline, { place, stdin: { open: true } });
  child.stdin.end(Buffer.from([0xff, 0xfe, 0x00]));
  const result = await ended(child);
  expect(result.code).toBe(2);
  expect(result.stderr).toMatch(/^cox: .*UTF-8.*\n$/);
});

test("with --json standard output holds messages only: the head of the Session, then what the Trace holds too", async () => {
  await using place = await createPlace();
  const result = await cox(["run", "--provider", "offline", "--approve", "allow", "--json", "go"], { place });
  expect(result).toMatchObject({ code: 0, stderr: "" });
  const messages = parseLines(result.stdout);
  expect(messages[0]?.type).toBe("session_meta");
  const [trace = ""] = await place.traceFiles();
  const isInput = (message: (typeof messages)[number]): boolean =>
    isPayload(message, "text") && message.payload.role === "user";
  const recorded = (await readTrace(trace)).filter((message) => !isInput(message) && message.type !== "session_meta");
  expect(messages.filter((message) => !isPartial(message)).slice(1)).toEqual(recorded);
  expect(messages.some(isPartial)).toBe(true);
});

test("with --json no character of a model can act on a terminal", async () => {
  await using place = await createPlace();
  await place.write("workspace/s.yaml", 'steps:\n  - text: "a\\x9b2Jb\\x1b[31m\\x7fc"\n');
  const result = await cox(["run", "--scenario", "s.yaml", "--json", "go"], { place });
  expect(result.stdout).not.toMatch(/[^\P{Cc}\n]/u);
  const texts = parseLines(result.stdout).filter(isCompleteModelMessage);
  expect(JSON.stringify(texts)).toContain("a\x9b2Jb\\u001b[31m\x7fc");
});

test("a command that still runs in the background at the end is ended and named, in one line", async () => {
  await using place = await createPlace();
  const cmd = "echo started; # \u001b[31m\nexec sleep 300";
  const step = { calls: [{ name: "exec_command", arguments: { cmd, run_in_background: true } }] };
  await place.write("workspace/s.yaml", JSON.stringify({ steps: [step, { text: "it runs" }] }));
  const args = ["run", "--scenario", "s.yaml", "--approve", "allow"];
  const [shown, json] = await Promise.all([cox([...args, "go"], { place }), cox([...args, "--json", "go"], { place })]);
  expect(shown.code).toBe(0);
  expect(shown.stdout).not.toContain("background command");
  expect(shown.stderr.split("\n").filter((line) => line.includes("background command"))).toEqual([
    "[info] ended 1 background command: echo started; # [31m exec sleep 300",
  ]);
  expect(parseLines(json.stdout).at(-1)?.payload).toMatchObject({ type: "notice", code: "commands_ended" });
});

test("a session goes on, and an empty prompt is refused when it owes nothing", async () => {
  await using place = await createPlace();
  await cox([...offline, "first"], { place });
  const [{ sessionId } = { sessionId: "" }] = JSON.parse(`[${(await cox(["sessions", "--json"], { place })).stdout}]`);
  expect((await cox(["run", "--session", sessionId, "second"], { place })).code).toBe(0);
  expect(await prompts(place)).toEqual(["first", "second"]);
  const empty = await cox(["run", "--session", sessionId], { place });
  expect(empty.code).toBe(2);
  expect(empty.stderr).toMatch(/^cox: session .* has nothing left to send; give a prompt\n$/);
});

test("a session goes on with the step of its scenario that comes next", async () => {
  await using place = await createPlace();
  await place.write("workspace/s.yaml", "steps:\n  - text: step one\n  - text: step two\n");
  await cox(["run", "--scenario", "s.yaml", "first"], { place });
  const { sessionId } = JSON.parse((await cox(["sessions", "--json"], { place })).stdout) as { sessionId: string };
  expect((await cox(["run", "--session", sessionId, "second"], { place })).stdout).toBe("step two\n");
});

test("sessions are listed newest first, in short lines, with the id alone in its own", async () => {
  await using place = await createPlace();
  await place.write("workspace/s.yaml", "steps:\n  - text: hi\n");
  await cox(["run", "--scenario", "s.yaml", "older \x1b[2J prompt"], { place });
  await cox(["run", "--scenario", "s.yaml", "newer prompt"], { place });
  const { stdout, code } = await cox(["sessions"], { place });
  expect(code).toBe(0);
  const lines = stdout.split("\n");
  expect(lines[0]).toMatch(/^session-[\d-]+-[0-9a-f]{8}$/);
  expect(lines[1]).toMatch(/^ {2}\d{4}-\d\d-\d\d \d\d:\d\d {2}offline\/.*\/s\.yaml$/);
  expect(lines[2]).toBe(`  ${place.workspace}`);
  expect(lines[3]).toBe("  newer prompt");
  expect(stdout).not.toContain("\x1b");
  const limited = await cox(["sessions", "--limit", "1"], { place });
  expect(limited.stdout).toBe(`${lines.slice(0, 4).join("\n")}\n`);
  expect(limited.stderr).toContain("--limit");
});

test("an agent or a project that is named for the first time is told to be new", async () => {
  await using place = await createPlace();
  const first = await cox([...offline, "--agent", "nope", "hi"], { place });
  expect(first.stderr).toMatch(/^\[agent\] "nope" is new, with settings and sessions of its own in .*\/nope\n/m);
  expect((await cox([...offline, "--agent", "nope", "hi"], { place })).stderr).not.toContain("is new");
  expect((await cox([...offline, "--project", "other", "hi"], { place })).stderr).toMatch(
    /^\[project\] "other" is new/m,
  );
});

test("no sessions is no fault", async () => {
  await using place = await createPlace();
  expect(await cox(["sessions"], { place })).toMatchObject({ code: 0, stdout: "" });
});

test("the answer has no colours under a pipe, whatever is asked for", async () => {
  await using place = await createPlace();
  const result = await cox([...offline, "hi"], { place, env: { FORCE_COLOR: "1", TERM: "xterm-256color" } });
  expect(result.stdout + result.stderr).not.toContain("\x1b");
});
