import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, test, vi } from "vitest";
import { createWorld, run } from "./support.ts";
import { turn } from "./support/background.ts";

const loaded = vi.hoisted((): string[] => []);

vi.mock("diff", () => {
  loaded.push("diff");
  throw new Error("EMFILE: too many open files");
});

vi.mock("@cfworker/json-schema", async (load) => {
  loaded.push("validator");
  return load();
});

test("what calls need is loaded behind the list of tools, before any call", async () => {
  const { environment } = await createWorld();
  await environment.listTools();
  expect(loaded).toEqual([]);
  while (loaded.length < 2) await turn();
  expect(loaded.toSorted()).toEqual(["diff", "validator"]);
});

test("a change that was made is told as made, with a diff, though what finds the shortest cannot be loaded", async () => {
  const { environment, workspaceDir } = await createWorld();
  const path = join(workspaceDir, "a.txt");
  await writeFile(path, "one\n");
  await run(environment, "read_file", { file_path: "a.txt" });
  const edited = await run(environment, "edit_file", { file_path: "a.txt", old_string: "one", new_string: "two" });
  expect(edited).toMatchObject({ status: "completed", output: expect.stringContaining("-one\n+two\n") });
  const written = await run(environment, "write_file", { file_path: "a.txt", content: "three\n" });
  expect(written).toMatchObject({ status: "completed", output: expect.stringContaining("-two\n+three\n") });
  expect(await readFile(path, "utf8")).toBe("three\n");
});
