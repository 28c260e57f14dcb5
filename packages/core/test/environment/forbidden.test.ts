import { link, mkdir, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { createWorld, run } from "./support.ts";

/** `home` holds configuration, the scratchpad lies within it; the Workspace holds a forbidden file. */
async function createGuarded() {
  const world = await createWorld((root) => ({
    scratchpadDir: join(root, "home", "scratchpad"),
    forbiddenFiles: [".secrets.toml", "*.key", "private/"],
    forbiddenPaths: [join(root, "home")],
  }));
  const { root, workspaceDir } = world;
  for (const directory of [join(root, "home/scratchpad"), join(workspaceDir, "private"), join(workspaceDir, "sub")]) {
    await mkdir(directory, { recursive: true });
  }
  const contents: [string, string][] = [
    [join(root, "home/config.toml"), "hidden"],
    [join(root, "home/scratchpad/out.txt"), "output"],
    [join(workspaceDir, ".secrets.toml"), "hidden"],
    [join(workspaceDir, "sub/tls.key"), "hidden"],
    [join(workspaceDir, "private/a.txt"), "hidden"],
    [join(workspaceDir, "open.txt"), "open"],
  ];
  for (const [path, content] of contents) await writeFile(path, content);
  const links: [string, string][] = [
    [".secrets.toml", "n.txt"],
    ["n.txt", "n2.txt"],
    ["..", "up"],
    ["../home", "h"],
    ["../home/new.toml", "dangling"],
    ["open.txt", "inner"],
    ["/proc/self/root", "rootlink"],
  ];
  for (const [target, name] of links) await symlink(target, join(workspaceDir, name));
  await link(join(workspaceDir, ".secrets.toml"), join(workspaceDir, "hard.txt"));
  await link(join(root, "home/config.toml"), join(workspaceDir, "hard2.txt"));
  return world;
}

describe("what is forbidden", () => {
  const names = (root: string, ws: string): string[] => [
    ".secrets.toml",
    ".SECRETS.TOML",
    "./sub/../.secrets.toml",
    "n.txt",
    "n2.txt",
    "up/ws/.secrets.toml",
    "sub/tls.key",
    "sub/TLS.KEY",
    "not/there.key",
    "private/a.txt",
    "private",
    "Private/A.txt",
    "hard.txt",
    "hard2.txt",
    join(root, "home/config.toml"),
    join(root, "HOME/config.toml"),
    join(root, "home/not-there"),
    "../home/config.toml",
    "h/config.toml",
    "up/home/config.toml",
    "dangling",
    join(root, "home/scratchpad/../config.toml"),
    `/proc/self/root${ws}/.secrets.toml`,
    `/proc/${process.pid}/root${root}/home/config.toml`,
    `/proc/self/cwd/x`,
    "/proc/self/environ",
    `/proc/${process.pid}/environ`,
    `rootlink${root}/home/config.toml`,
    "/dev/fd/0",
  ];

  test("is refused with the same words by every file tool, and nothing is read or made", async () => {
    const { environment, root, workspaceDir } = await createGuarded();
    for (const file_path of names(root, workspaceDir)) {
      const words = `Access to ${JSON.stringify(file_path)} is not allowed.`;
      for (const [tool, more] of [
        ["read_file", {}],
        ["edit_file", { old_string: "hidden", new_string: "changed" }],
        ["write_file", { content: "changed" }],
      ] as const) {
        expect(await run(environment, tool, { file_path, ...more })).toMatchObject({ status: "failed", output: words });
      }
    }
    expect(await readFile(join(root, "home/config.toml"), "utf8")).toBe("hidden");
    expect((await readdir(join(root, "home"))).sort()).toEqual(["config.toml", "scratchpad"]);
    expect(await readFile(join(workspaceDir, ".secrets.toml"), "utf8")).toBe("hidden");
  });

  test("does not show in lists and searches, and is no place to run", async () => {
    const { environment } = await createGuarded();
    const listed = await run(environment, "list_files", {});
    expect(listed.output).toContain("open.txt");
    expect(listed.output).not.toMatch(/secrets|\.key|private/);
    expect((await run(environment, "search_files", { pattern: "hidden" })).output).toBe("[no matches]");
    for (const path of ["private", "h", "../home"]) {
      const words = `Access to ${JSON.stringify(path)} is not allowed.`;
      expect(await run(environment, "list_files", { path })).toMatchObject({ output: words });
      expect(await run(environment, "search_files", { path, pattern: "x" })).toMatchObject({ output: words });
    }
  });

  test("does not reach further: inner links, the scratchpad and siblings stay open", async () => {
    const { environment, root } = await createGuarded();
    expect((await run(environment, "read_file", { file_path: "inner" })).output).toContain("open");
    const kept = join(root, "home/scratchpad/out.txt");
    expect((await run(environment, "read_file", { file_path: kept })).output).toContain("output");
    await mkdir(join(root, "home-other"));
    const sibling = join(root, "home-other/a.txt");
    expect(await run(environment, "write_file", { file_path: sibling, content: "x" })).toMatchObject({
      status: "completed",
    });
  });

  test("a Workspace that lies in a forbidden path is open, and its forbidden files are not", async () => {
    const { environment, workspaceDir } = await createWorld((root) => ({
      forbiddenPaths: [root],
      forbiddenFiles: ["a"],
    }));
    await writeFile(join(workspaceDir, "b"), "text");
    expect(await run(environment, "read_file", { file_path: "b" })).toMatchObject({ status: "completed" });
    expect(await run(environment, "read_file", { file_path: "a" })).toMatchObject({ status: "failed" });
    expect(await run(environment, "read_file", { file_path: "../c" })).toMatchObject({
      output: 'Access to "../c" is not allowed.',
    });
  });
});

test("links that go in a circle and NUL are refused with words", async () => {
  const { environment, workspaceDir } = await createWorld();
  await symlink("b", join(workspaceDir, "a"));
  await symlink("a", join(workspaceDir, "b"));
  expect((await run(environment, "read_file", { file_path: "a" })).output).toContain("go in a circle");
  expect((await run(environment, "read_file", { file_path: "a\0b" })).output).toContain("NUL");
});
