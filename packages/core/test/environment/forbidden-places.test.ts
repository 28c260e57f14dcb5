import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { FileGuard } from "../../src/environment/files/file-guard.ts";
import { listDirectory } from "../../src/environment/files/list-directory.ts";
import { walk } from "../../src/environment/files/walk.ts";
import { createWorld, run } from "./support.ts";

describe("what is forbidden by a path from the top of the machine, or by ~", () => {
  async function createPlaces() {
    const home = process.env.HOME;
    const world = await createWorld((root) => {
      // Where `~` leads, from the start of this world on.
      process.env.HOME = join(root, "me");
      return {
        workspaceDir: join(root, "me/ws"),
        forbiddenFiles: [
          join(root, "me/ws/a.key"),
          join(root, "me/ws/conf/"),
          join(root, "me/ws/**/*.pem"),
          join(root, "data"),
          join(root, "keys/*.key"),
          "~/.netrc",
          "~/.ssh",
          "/top.txt",
        ],
      };
    });
    onTestFinished(() => {
      if (home === undefined) delete process.env.HOME;
      else process.env.HOME = home;
    });
    const names = ["me/ws/a.key", "me/ws/conf/b", "me/ws/sub/c.pem", "me/ws/top.txt", "data/d", "keys/e.key", "keys/f"];
    const open = ["me/ws/open.txt", "me/ws/sub/a.key", "me/ws/sub/top.txt", "data-other/g", "me/h"];
    for (const name of [...names, ...open, "me/.netrc", "me/.ssh/id"]) {
      await mkdir(dirname(join(world.root, name)), { recursive: true });
      await writeFile(join(world.root, name), "text\n");
    }
    return { ...world, names, open };
  }

  test("is out of reach with all below it, in the Workspace and elsewhere, and nothing else is", async () => {
    const { environment, root, names, open } = await createPlaces();
    const read = (file_path: string) => run(environment, "read_file", { file_path });
    for (const name of [...names, "me/.netrc", "me/.ssh/id"]) {
      expect((await read(join(root, name))).output).toMatch(/^Access to "[^"]+" is not allowed[.:]/);
    }
    expect((await read("~/.ssh/id")).output).toBe('Access to "~/.ssh/id" is not allowed.');
    expect((await read("a.key")).output).toBe(
      `Access to "a.key" is not allowed: the project's forbidden_files forbid "/a.key".`,
    );
    for (const name of open) expect((await read(join(root, name))).status).toBe("completed");
    expect((await run(environment, "list_files", {})).output.split("\n")).toEqual([
      "open.txt",
      "sub/",
      "sub/a.key",
      "sub/top.txt",
    ]);
  });

  test("of a pattern that reaches into the Workspace from above, the last part holds there", async () => {
    const { environment } = await createWorld((root) => ({ forbiddenFiles: [`${root}/**/*.pem`] }));
    for (const [file_path, status] of [
      ["a.pem", "failed"],
      ["sub/b.pem", "failed"],
      ["c.txt", "completed"],
    ]) {
      expect((await run(environment, "write_file", { file_path, content: "" })).status).toBe(status);
    }
    expect((await run(environment, "write_file", { file_path: "../d.txt", content: "" })).status).toBe("failed");
  });
});

test("a directory that was turned into a link, or is another's name for a forbidden one, is not listed", async () => {
  const { root, workspaceDir } = await createWorld();
  await mkdir(join(root, "home"));
  const guard = new FileGuard({
    workspaceDir,
    scratchpadDir: join(root, "home/scratchpad"),
    forbiddenFiles: [],
    forbiddenPaths: [join(root, "home")],
  });
  const identities = guard.identities();
  await mkdir(join(root, "outer/inner"), { recursive: true });
  await symlink(join(root, "home"), join(workspaceDir, "turned"));
  await symlink(join(root, "outer"), join(workspaceDir, "through"));
  expect(listDirectory(join(root, "outer"), identities).map(({ name }) => name)).toEqual(["inner"]);
  // What was looked at as directories of their own.
  expect(() => listDirectory(join(workspaceDir, "turned"), identities)).toThrow();
  expect(() => listDirectory(join(workspaceDir, "through/inner"), identities)).toThrow("leads elsewhere by now");
  expect(() => listDirectory(join(root, "home"), identities)).toThrow("is not allowed");
  expect(() => [...walk({ guard, root: join(workspaceDir, "through/inner") })]).toThrow("leads elsewhere by now");
});
