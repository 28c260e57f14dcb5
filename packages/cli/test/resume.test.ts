import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { isPayload } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { nextQuestion } from "../src/session-standing.ts";
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

test("what is owed is told, and goes along", async () => {
  await using place = await createPlace();
  const id = await first(place);
  const [path = ""] = await place.traceFiles();
  const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
  const call = { type: "tool_call", role: "assistant", name: "list_files", arguments: "{}", tool_call_id: "c" };
  const record = (type: string, payload: object): string =>
    JSON.stringify({ timestamp: "2026-01-01T00:00:00.000Z", type, payload });
  const cut = [
    record("model_msg", { type: "text", role: "user", text: "look" }),
    record("event_msg", { type: "request_begin" }),
    record("model_msg", call),
    record("event_msg", { type: "request_end", status: "completed" }),
  ];
  await writeFile(path, `${[...lines, ...cut].join("\n")}\n`);
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

test("an empty answer is offered only where something is owed", () => {
  expect(nextQuestion(true)).toContain("an empty line sends what is still owed");
  expect(nextQuestion(false)).toBe("What next?");
});

test("without any Session it is said how to begin one", async () => {
  await using place = await createPlace();
  expect(await cox(["resume", "hello"], { place })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^cox: there are no sessions yet in .*; begin one with: cox run "…"\n$/),
  });
});
