import { expect, test } from "vitest";
import { cox, createPlace } from "../test/support.ts";

test("a run in a sandbox says so before anything else, and again when its session goes on; without one it says nothing", async () => {
  await using place = await createPlace();
  const configure = (sandbox: string) =>
    place.write("home/default_project/project_config.toml", `sandbox = "${sandbox}"\n`);
  const run = (...more: string[]) => cox(["run", "--approve", "deny", ...more, "go"], { place });
  await configure("workspace");
  const first = await run("--provider", "offline");
  expect(first).toMatchObject({ code: 0, stderr: expect.stringMatching(/^\[sandbox\] workspace: /) });
  await configure("strict");
  const id = /\[session\] (\S+)/.exec(first.stderr)?.[1] ?? "";
  expect((await run("--session", id)).stderr).toContain("[sandbox] strict: ");
  await configure("off");
  expect((await run("--provider", "offline")).stderr).not.toContain("[sandbox]");
});
