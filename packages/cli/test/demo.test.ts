import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { isPayload } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { cox, createPlace, readTrace } from "./support.ts";

const run = promisify(execFile);

test("the demo ends by itself, answers its own approvals and says so, and its commands confirm its summary", async () => {
  await using place = await createPlace();
  const result = await cox(["demo"], { place });
  expect(result.code).toBe(0);
  expect(result.stdout).toMatch(/^\[This is Coxswain's built-in offline model/);
  expect(result.stderr).toContain("so the demo answers itself: allow");
  expect(result.stderr).toContain("2 are running now");
  const confirmations = result.stdout.split("\n").filter((line) => / {3}# \d+$/.test(line));
  expect(confirmations).toHaveLength(5);
  const assignment = /^ {2}TRACE=.*$/m.exec(result.stdout)?.[0] ?? "";
  for (const line of confirmations) {
    const { stdout } = await run("bash", ["-c", `${assignment}\n${line}`]);
    expect([line, stdout.trim()]).toEqual([line, line.split("# ")[1]]);
  }
  const listing = / {2}(?:node \S+|cox) (sessions --home \S+)$/m.exec(result.stdout)?.[1]?.split(" ") ?? [];
  expect((await cox(listing, { place })).stdout).toMatch(/^session-/);
});

test("what the demo allows is really done, two calls at the same time", async () => {
  await using place = await createPlace();
  const { stdout } = await cox(["demo"], { place });
  const root = join(place.root, (await readdir(place.root)).find((name) => name.startsWith("coxswain-demo-")) ?? "");
  expect(stdout).toContain(`rm -r ${root}`);
  expect(await readFile(join(root, "workspace/OPEN.md"), "utf8")).toContain("ask for a berth");
  const trace = await readTrace(/^ {2}TRACE=(.*)$/m.exec(stdout)?.[1] ?? "");
  const outputs = trace.filter((message) => isPayload(message, "tool_call_output"));
  expect(outputs.map(({ payload }) => payload.stop_reason ?? "completed")).toEqual(Array(5).fill("completed"));
  expect(stdout).toContain("up to 2 at once");
});

test("what is denied in the demo is not done, and counted as denied", async () => {
  await using place = await createPlace();
  const { stdout, code } = await cox(["demo", "--approve", "deny"], { place });
  expect(code).toBe(0);
  expect(stdout).toContain("3 allowed, 2 denied");
});
