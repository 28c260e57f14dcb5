import { link, mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { FileGuard } from "../../src/environment/files/file-guard.ts";
import { forbiddenMatcher, type NameMatcher } from "../../src/environment/files/file-names.ts";
import { openFile } from "../../src/environment/files/open-file.ts";
import { createWorld, run, type World } from "./support.ts";

/** Its forbidden files are `.env` and `private`; counts how often a name is held against one of them. */
function countingGuard({ workspaceDir, scratchpadDir }: World) {
  const counted = { matches: 0 };
  const matcherOf = (glob: string): NameMatcher => {
    const matches = forbiddenMatcher(glob);
    return (path) => {
      counted.matches++;
      return matches(path);
    };
  };
  const options = { workspaceDir, scratchpadDir, forbiddenFiles: [".env", "private"], forbiddenPaths: [] };
  return { guard: new FileGuard(options, matcherOf), counted };
}

describe("a path of many steps", () => {
  test("has each of its names matched at most twice against a pattern, by itself and behind a link", async () => {
    const world = await createWorld();
    const { guard, counted } = countingGuard(world);
    const long = `${"a/".repeat(400)}x`;
    await symlink(long, join(world.workspaceDir, "link"));
    for (const path of [long, "link", `${"a/../".repeat(200)}x`]) {
      counted.matches = 0;
      guard.resolve(path);
      expect(counted.matches).toBeGreaterThan(400);
      expect(counted.matches).toBeLessThan(2000);
    }
  });

  test("is forbidden by whichever of them is", async () => {
    const world = await createWorld();
    const { guard } = countingGuard(world);
    const deep = "a/".repeat(200);
    await symlink(`${deep}PRIVATE/${deep}x`, join(world.workspaceDir, "link"));
    await symlink("link", join(world.workspaceDir, "second"));
    for (const path of [`${deep}private/${deep}x`, "link", "second", `${deep}private/..`, `${deep}.env`]) {
      expect(() => guard.resolve(path)).toThrow("forbidden_files forbid");
    }
  });

  test("has each of its names matched once where a second name of a file is looked for", async () => {
    const world = await createWorld();
    const { guard, counted } = countingGuard(world);
    const directory = join(world.workspaceDir, "a/".repeat(100));
    const hidden = join(world.workspaceDir, "private", "b/".repeat(100));
    for (const path of [directory, hidden]) await mkdir(path, { recursive: true });
    for (let index = 0; index < 100; index++) await writeFile(join(directory, `f${index}`), "");
    await link(join(directory, "f0"), join(directory, "open"));
    await writeFile(join(hidden, "secret"), "");
    await link(join(hidden, "secret"), join(world.workspaceDir, "second"));
    const open = async (path: string) => {
      const { handle } = await openFile(guard, path, path);
      await handle.close();
    };
    await open(join(directory, "open"));
    expect(counted.matches).toBeGreaterThan(200);
    expect(counted.matches).toBeLessThan(2000);
    await expect(open(join(world.workspaceDir, "second"))).rejects.toThrow("is not allowed");
  });
});

describe("a path of more than 500 steps, those of links included", () => {
  test("is refused with words by every tool", async () => {
    const { environment, workspaceDir } = await createWorld({ forbiddenFiles: [".env"] });
    await symlink(`${"a/".repeat(600)}x`, join(workspaceDir, "README.md"));
    for (let index = 0; index < 30; index++) {
      await symlink(`${"./a/../".repeat(10)}l${index + 1}`, join(workspaceDir, `l${index}`));
    }
    await mkdir(join(workspaceDir, "a"));
    await writeFile(join(workspaceDir, "l30"), "text");
    for (const file_path of ["README.md", `${"a/".repeat(600)}x`, "l0"]) {
      const words = { status: "failed", output: expect.stringContaining("more than 500 steps") };
      expect(await run(environment, "read_file", { file_path })).toMatchObject(words);
      expect(await run(environment, "write_file", { file_path, content: "" })).toMatchObject(words);
      expect(await run(environment, "list_files", { path: file_path })).toMatchObject(words);
      expect(await run(environment, "exec_command", { cmd: "pwd", workdir: file_path })).toMatchObject(words);
    }
    expect(await run(environment, "read_file", { file_path: "l15" })).toMatchObject({ status: "completed" });
  });

  test("is refused as well where its links pile up more than a system takes", async () => {
    const { environment, workspaceDir } = await createWorld();
    const long = `/${"x".repeat(240)}`.repeat(10);
    await symlink(`second${long}`, join(workspaceDir, "first"));
    await symlink(`none${long}`, join(workspaceDir, "second"));
    expect((await run(environment, "read_file", { file_path: "first" })).output).toContain("more than 4096 bytes");
  });
});
