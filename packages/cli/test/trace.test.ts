import { mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { isPayload, userText } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { cox, createPlace, ended, parseLines, type Place, readTrace, startCox } from "./support.ts";

const scenario = `steps:
  - thinking: First I look.
    text: "Looking \\e[31m now."
    calls:
      - name: list_files
  - text: half
    end: timeout
  - text: All done.
`;

interface Written {
  id: string;
  path: string;
}

async function written(place: Place, prompt = "look around"): Promise<Written> {
  await place.write("workspace/s.yaml", scenario);
  const { code } = await cox(["run", "--scenario", "s.yaml", "--approve", "allow", prompt], { place });
  expect(code).toBe(0);
  const [path = ""] = await place.traceFiles();
  return { path, id: basename(path).replace("_001.jsonl", "") };
}

test("a Session replays to the same, by its id and by its file", async () => {
  await using place = await createPlace();
  const { id, path } = await written(place);
  for (const name of [id, path]) {
    expect(await cox(["trace", "replay", name], { place })).toMatchObject({
      code: 0,
      stdout: "3 requests, 19 records: the same\n",
      stderr: "",
    });
  }
});

test("a changed record is the first difference, and a damaged Trace is said to be none to play", async () => {
  await using place = await createPlace();
  const { path } = await written(place);
  const text = await readFile(path, "utf8");
  const altered = await place.write("altered.jsonl", text.replace('"attempt":1', '"attempt":7'));
  const different = await cox(["trace", "replay", altered], { place });
  expect(different.code).toBe(1);
  expect(different.stdout).toMatch(/^record \d+ of context 1, payload, attempt:\n {2}expected 7\n {2}found {4}1\n$/);
  const lines = text.split("\n");
  const damaged = await place.write("damaged.jsonl", lines.with(4, "no json").join("\n"));
  const unplayable = await cox(["trace", "replay", damaged], { place });
  expect(unplayable.code).toBe(2);
  expect(unplayable.stdout).toMatch(/cannot be played again: a line after record 4 of context 1 cannot be read/);
});

test("show tells of each request, call, decision, wait and count, without control codes", async () => {
  await using place = await createPlace();
  const { id } = await written(place, "look \x1b[2J around");
  const { stdout, code, stderr } = await cox(["trace", "show", id], { place });
  expect([code, stderr]).toEqual([0, ""]);
  for (const words of [
    /^Context 1 {2}session-/m,
    /^Task 1 {2}\d{4}-/m,
    /^ {2}input: look around$/m,
    /^ {2}request 2, attempt 1 /m,
    /^ {4}thinking: First I look\.$/m,
    /^ {4}call list_files$/m,
    /^ {6}allow, \d+\.\d\d s$/m,
    /^ {6}completed, \d+ characters, \d+\.\d\d s: s\.yaml$/m,
    /^ {4}tokens: \d+ in, 0 from cache, 0 to cache, \d+ out, \d+ in all; session \d+$/m,
    /^ {4}timeout: .*, \d+\.\d\d s; next attempt in 0\.25 s$/m,
    /^ {4}completed \(stop\), \d+\.\d\d s$/m,
  ]) {
    expect(stdout).toMatch(words);
  }
  expect(stdout).not.toMatch(/[^\P{Cc}\n]/u);
});

test("show tells of lines that are damaged or cut, of an interrupt, and of what its process left undone", async () => {
  await using place = await createPlace();
  const { path } = await written(place);
  const lines = (await readFile(path, "utf8")).split("\n");
  const abort =
    '{"timestamp":"2026-01-01T00:00:00.000Z","type":"event_msg","payload":{"type":"abort","undelivered":["wait"]}}';
  const text = [...lines.slice(0, 5), "no json", ...lines.slice(5, 6), abort, ...lines.slice(1, 5), '{"cut'].join("\n");
  const { stdout, code } = await cox(["trace", "show", await place.write("a.jsonl", text)], { place });
  expect(code).toBe(0);
  expect(stdout).toMatch(/cannot be read: line 6/);
  expect(stdout).toMatch(/the last line was cut/);
  expect(stdout).toMatch(/^ {2}interrupted\n {2}not delivered: wait$/m);
  expect(stdout).toMatch(/^Task 2 /m);
  expect(stdout).toMatch(/has no end: its process stopped/);
});

test("with --json each entry is a line, and one context can be chosen", async () => {
  await using place = await createPlace();
  const { id } = await written(place);
  const { stdout } = await cox(["trace", "show", id, "--context", "1", "--json"], { place });
  const entries = stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as { kind: string });
  expect(entries.map(({ kind }) => kind)).toEqual(["context", "task", "input", "request", "request", "request"]);
  expect(entries[3]).toMatchObject({ calls: [{ name: "list_files", decision: "allow", status: "completed" }] });
  const none = await cox(["trace", "show", id, "--context", "4"], { place });
  expect(none).toMatchObject({ code: 2, stderr: expect.stringContaining("has no context 4, only 1") });
});

test("a fork is a new Session that goes on from the turn, and the old file stays as it is", async () => {
  await using place = await createPlace();
  const { id, path } = await written(place);
  const before = await readFile(path);
  const forked = await cox(["trace", "fork", id, "--turn", "1"], { place });
  expect(forked.code).toBe(0);
  const newId = forked.stdout.trim();
  expect(forked.stderr).toContain(`cox run --session ${newId} "…"`);
  const went = await cox(["run", "--session", newId, "--approve", "deny", "another way"], { place });
  expect(went).toMatchObject({ code: 0, stdout: "half\nAll done.\n" });
  expect((await readFile(path)).equals(before)).toBe(true);
  const files = await place.traceFiles();
  const records = await readTrace(files.find((file) => file.includes(newId)) ?? "");
  expect(records[0]?.payload).toMatchObject({ session_id: newId });
  expect(await cox(["trace", "replay", newId], { place })).toMatchObject({ code: 0 });
  expect(await cox(["trace", "fork", id, "--turn", "9"], { place })).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/^cox: there is no turn 9 in context 1; its completed turns are 1 to 2\n$/),
  });
});

test("an export is private, is never written over another file, replays, and says what it lacks", async () => {
  await using place = await createPlace();
  const { id } = await written(place, `my key is sk-live-abcdef123456, my home ${place.root}/notes`);
  const env = { SOME_TOKEN: "look-around-token" };
  const first = await cox(["trace", "export", id, "--out", "handed.jsonl"], { place, env });
  expect(first).toMatchObject({ code: 0, stdout: "" });
  expect(first.stderr).toMatch(
    /^19 records in handed\.jsonl\n {2}removed: 1 × a key\n {2}removed: \d+ × a home directory/,
  );
  const out = join(place.workspace, "handed.jsonl");
  const text = await readFile(out, "utf8");
  expect((await stat(out)).mode & 0o777).toBe(0o600);
  expect(text).not.toContain("abcdef123456");
  expect(text).not.toContain(place.root);
  const texts = parseLines(text).filter((message) => isPayload(message, "text"));
  expect(texts[0]?.payload).toMatchObject({ text: "my key is [redacted], my home /home/user/notes" });
  const again = await cox(["trace", "export", id, "--out", "handed.jsonl"], { place });
  expect(again).toMatchObject({ code: 2, stderr: expect.stringMatching(/handed\.jsonl is there already.*--force\n$/) });
  expect(await cox(["trace", "export", id, "-o", "handed.jsonl", "--force"], { place })).toMatchObject({ code: 0 });
  expect((await cox(["trace", "export", id, "--out", "-"], { place })).stdout).toBe(text);
  expect(await cox(["trace", "replay", "handed.jsonl"], { place })).toMatchObject({ code: 0 });
  const nowhere = await cox(["trace", "export", id, "--out", "none/x.jsonl"], { place });
  expect(nowhere).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/none\/x\.jsonl cannot be written \(ENOENT\)/),
  });
});

test("known keys of the environment are no part of an export", async () => {
  await using place = await createPlace();
  const { id } = await written(place, "the token is look-around-token");
  const { stdout } = await cox(["trace", "export", id, "--out", "-"], {
    place,
    env: { SOME_TOKEN: "look-around-token" },
  });
  expect(stdout).toContain("the token is [redacted]");
});

test.each([
  [
    "a Session that is not there",
    ["trace", "show", "session-2026-01-01-00-00-00-00000000"],
    /there is no session.*cox sessions/,
  ],
  ["a file that is not there", ["trace", "replay", "./none.jsonl"], /there is no file .*none\.jsonl/],
  ["a file that is no Trace", ["trace", "show", "./notes.md"], /holds no message/],
  ["an id that is none", ["trace", "fork", "a b"], /no session id/],
  ["a turn that is no number", ["trace", "fork", "x", "--turn", "last"], /--turn/],
  ["nothing to show", ["trace", "show"], /missing required argument/],
])("%s is told of in one line", async (_, args, words) => {
  await using place = await createPlace();
  await mkdir(place.home, { recursive: true });
  await writeFile(join(place.workspace, "notes.md"), "# Notes\n");
  const result = await cox(args, { place });
  expect(result).toMatchObject({ code: 2, stdout: "" });
  expect(result.stderr).toMatch(/^cox: [^\n]+\n$/);
  expect(result.stderr).toMatch(words);
});

test("a program that reads only the beginning is no fault", async () => {
  await using place = await createPlace();
  const records = Array.from({ length: 5_000 }, () => `${JSON.stringify(userText("x".repeat(200)))}\n`).join("");
  const child = startCox(["trace", "show", await place.write("long.jsonl", records)], { place });
  child.stdout.once("data", () => child.stdout.destroy());
  expect(await ended(child)).toMatchObject({ code: 0, stderr: "" });
});
