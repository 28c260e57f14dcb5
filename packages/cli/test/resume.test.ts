import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isPayload, parseOmniMessage } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { nextQuestion, owedLines } from "../src/session-standing.ts";
import { cox, createPlace, type Place, readTrace } from "./support.ts";

const steps = ["one", "two", "three", "four"].map((text) => `  - text: step ${text}\n`).join("");

async function first(place: Place, args: string[] = [], prompt = "the first"): Promise<string> {
  await place.write("workspace/s.yaml", `steps:\n${steps}`);
  await cox(["run", "--scenario", "s.yaml", ...args, prompt], { place });
  const { stdout } = await cox(["sessions", "--limit", "1"], { place });
  return stdout.split("\n")[0] ?? "";
}

async function prompts(place: Place, id: string): Promise<string[]> {
  const path = (await place.traceFiles()).find((file) => file.includes(id)) ?? "";
  const texts = (await readTrace(path)).filter((message) => isPayload(message, "text"));
  return texts.filter(({ payload }) => payload.role === "user").map(({ payload }) => payload.text);
}

test("without an id the newest Session of this directory goes on, and shows what was said last", async () => {
  await using place = await createPlace();
  const here = await first(place);
  await mkdir(join(place.root, "elsewhere"));
  await first(place, ["-w", join(place.root, "elsewhere")]);
  const result = await cox(["resume", "and", "on"], { place });
  expect(result).toMatchObject({ code: 0, stdout: "step two\n" });
  expect(result.stderr).toMatch(new RegExp(`^\\[session\\] ${here}\n {2}> the first\n {4}.*step one\n`));
  expect(await prompts(place, here)).toEqual(["the first", "and on"]);
});

test("where no Session works none goes on, and it is said which is the newest", async () => {
  await using place = await createPlace();
  const elsewhere = join(place.root, "elsewhere");
  await mkdir(elsewhere);
  const id = await first(place, ["-w", elsewhere]);
  const refused = await cox(["resume", "go on"], { place });
  const newest = `the newest works in ${elsewhere}: cox resume ${id}`;
  expect(refused).toMatchObject({ code: 2, stdout: "", stderr: expect.stringContaining(newest) });
  expect(await prompts(place, id)).toEqual(["the first"]);
  const named = await cox(["resume", "-w", elsewhere], { place, stdin: "from standard input" });
  expect(named.stdout).toBe("step two\n");
  expect(await prompts(place, id)).toEqual(["the first", "from standard input"]);
});

test("an id chooses the Session, with the options of a run, and only the last exchanges are shown", async () => {
  await using place = await createPlace();
  const id = await first(place);
  for (const prompt of ["second", "third"]) await cox(["resume", id, prompt], { place });
  const { stdout, stderr, code } = await cox(["resume", id, "--json", "fourth"], { place });
  expect(code).toBe(0);
  expect(JSON.parse(stdout.split("\n")[0] ?? "")).toMatchObject({ type: "session_meta", payload: { session_id: id } });
  expect(stderr).toContain("  > second\n    step two\n  > third\n    step three\n");
  const last = await cox(["resume", id, "fifth"], { place });
  expect(last.stderr).toMatch(/ {2}…\n {2}> second\n/);
});

const record = (type: string, payload: object): string =>
  JSON.stringify({ timestamp: "2026-01-01T00:00:00.000Z", type, payload });

const said = (text: string): string => record("model_msg", { type: "text", role: "user", text });

async function append(place: Place, records: readonly string[]): Promise<void> {
  const [path = ""] = await place.traceFiles();
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  await writeFile(path, `${[...lines, ...records].join("\n")}\n`);
}

/** A turn with these calls and decisions, whose process ended. */
function cutTurn(calls: readonly string[], allowed: readonly string[]): string[] {
  const call = { type: "tool_call", role: "assistant", name: "list_files", arguments: "{}" };
  return [
    said("look"),
    record("event_msg", { type: "request_begin" }),
    ...calls.map((id) => record("model_msg", { ...call, tool_call_id: id })),
    ...allowed.map((id) => record("event_msg", { type: "approval_decision", decision: "allow", tool_call_id: id })),
    record("event_msg", { type: "request_end", status: "completed" }),
  ];
}

test("what is owed is told, and goes along", async () => {
  await using place = await createPlace();
  const id = await first(place);
  await append(place, cutTurn(["c"], ["c"]));
  const { stderr, code } = await cox(["resume", id, "go on"], { place });
  expect(code).toBe(0);
  expect(stderr).toContain(
    "[owed] the last task was cut off when its process ended, and goes along with what you say next; of one call nobody knows the outcome\n",
  );
  const nothing = await cox(["resume", id], { place });
  expect(nothing).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/has nothing left to send; give a prompt\n$/),
  });
});

test.each([
  [["c"], [], "; one call was never allowed and did not run"],
  [["a", "b", "c"], ["b"], "; of one call nobody knows the outcome; 2 calls were never allowed and did not run"],
  [["a", "b"], ["a", "b"], "; of 2 calls nobody knows the outcome"],
  // The ids that an adapter gives to calls of one name.
  [["a", "a~2"], ["a"], "; of one call nobody knows the outcome; one call was never allowed and did not run"],
])("of the calls %j, of which %j were allowed, it is told which ran", (calls, allowed, words) => {
  const messages = cutTurn(calls, allowed).map((line) => parseOmniMessage(JSON.parse(line)));
  const [line = ""] = owedLines(messages);
  expect(line.slice(line.indexOf(";"))).toBe(words);
});

test("what was said to a Task and not delivered is told once, with its text in one line", async () => {
  await using place = await createPlace();
  const id = await first(place);
  const undelivered = ["mind the\ngap", "and \u001b[31mhurry"];
  await append(place, [...cutTurn(["c"], []), record("event_msg", { type: "abort", undelivered })]);
  const words = "[not delivered] mind the gap\n[not delivered] and hurry\n";
  const gone = await cox(["run", "--session", id, "go on"], { place });
  expect(gone.stderr).toContain(words);
  expect((await cox(["resume", id, "again"], { place })).stderr).not.toContain("[not delivered]");
  await append(place, [said("stop"), record("event_msg", { type: "abort", undelivered })]);
  expect((await cox(["resume", id, "last"], { place })).stderr).toContain(words);
});

test("an empty answer is offered only where something is owed", () => {
  expect(nextQuestion(true)).toContain("an empty line sends what is still owed");
  expect(nextQuestion(false)).toBe("What next?");
});

test.each(["7ef45a11", "session-2026"])("the piece of an id %s goes to no other Session as a prompt", async (piece) => {
  await using place = await createPlace();
  const id = await first(place);
  const refused = await cox(["resume", piece], { place });
  expect(refused).toMatchObject({
    code: 2,
    stdout: "",
    stderr: expect.stringContaining(`there is no session ${piece}`),
  });
  expect(await prompts(place, id)).toEqual(["the first"]);
});

test("without any Session it is said how to begin one", async () => {
  await using place = await createPlace();
  expect(await cox(["resume", "hello"], { place })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^cox: there are no sessions yet in .*; begin one with: cox run "…"\n$/),
  });
});
