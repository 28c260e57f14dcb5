import { link, mkdir, readdir, readFile, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { writeAtomically } from "../../src/environment/files/atomic-write.ts";
import { FileGuard } from "../../src/environment/files/file-guard.ts";
import { openFile } from "../../src/environment/files/open-file.ts";
import { callOf, createWorld, run } from "./support.ts";

/** `home` holds configuration, the scratchpad lies within it; the Workspace holds a forbidden file. */
async function createGuarded() {
  const world = await createWorld((root) => ({
    scratchpadDir: join(root, "home", "scratchpad"),
    forbiddenFiles: [".secrets.toml", "*.key", "private/", "/café/straße.txt"],
    forbiddenPaths: [join(root, "home"), join(root, "netrc")],
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
    ["sub/../.secrets.toml", "winding"],
    [join(root, "home"), "absolute"],
    ["sub", "near"],
    ["../far/deep", "far"],
  ];
  for (const [target, name] of links) await symlink(target, join(workspaceDir, name));
  await mkdir(join(root, "far/deep"), { recursive: true });
  await writeFile(join(root, "far/open.txt"), "far");
  await link(join(workspaceDir, ".secrets.toml"), join(workspaceDir, "hard.txt"));
  await link(join(workspaceDir, "sub/tls.key"), join(workspaceDir, "hard3.txt"));
  await link(join(workspaceDir, "private/a.txt"), join(root, "hard4.txt"));
  await link(join(root, "home/config.toml"), join(workspaceDir, "hard2.txt"));
  await writeFile(join(root, "netrc"), "hidden");
  await link(join(root, "netrc"), join(root, "netrc-too"));
  return world;
}

/** The words about a path, with the pattern that forbids it or without. */
function refusalOf(path: string): RegExp {
  const start = `Access to ${JSON.stringify(path)} is not allowed`.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
  return new RegExp(`^${start}(?:: the project's forbidden_files forbid "[^"]+")?\\.$`);
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
    "hard3.txt",
    join(root, "hard4.txt"),
    "winding",
    "near/../.secrets.toml",
    "sub/./tls.key",
    "sub//tls.key",
    "far/../../ws/.secrets.toml",
    ".secrets.toml.",
    ".secrets.toml ",
    "private /a.txt",
    "private./b.txt",
    "CAFÉ/STRASSE.TXT",
    "cafe\u0301/straße.txt",
    "Cafe\u0301/STRASSE.txt",
    `${ws.toUpperCase()}/private/a.txt`,
    "absolute/config.toml",
    join(root, "home/config.toml"),
    join(root, "HOME/config.toml"),
    join(root, "home./config.toml"),
    join(root, "home /not-there"),
    join(root, "netrc"),
    join(root, "netrc-too"),
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
    "/proc/self/cwd",
    "/proc/./self//mem",
    "/proc/thread-self/environ",
    "/proc/self/task/1/environ",
    "/proc/1/root/etc/hostname",
    "/proc/mounts",
    "/dev/stdin",
    `/proc/${process.pid}/environ`,
    `rootlink${root}/home/config.toml`,
    "/dev/fd/0",
  ];

  test("is refused with the same words by every file tool, and nothing is read or made", async () => {
    const { environment, root, workspaceDir } = await createGuarded();
    for (const file_path of names(root, workspaceDir)) {
      const words = expect.stringMatching(refusalOf(file_path));
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

  test("is named by its pattern, whether it is there or not, and nothing else is", async () => {
    const { environment, root } = await createGuarded();
    const read = async (file_path: string) => (await run(environment, "read_file", { file_path })).output;
    const named = (path: string, pattern: string): string =>
      `Access to ${JSON.stringify(path)} is not allowed: the project's forbidden_files forbid "${pattern}".`;
    for (const path of ["sub/tls.key", "not/there.key"]) expect(await read(path)).toBe(named(path, "*.key"));
    expect(await read("n.txt")).toBe(named("n.txt", ".secrets.toml"));
    for (const path of [
      "hard.txt",
      join(root, "home/config.toml"),
      join(root, "home/not-there"),
      "/proc/self/environ",
    ]) {
      expect(await read(path)).toBe(`Access to ${JSON.stringify(path)} is not allowed.`);
    }
  });

  test("does not show in lists and searches, and is no place to run", async () => {
    const { environment } = await createGuarded();
    const listed = await run(environment, "list_files", {});
    expect(listed.output).toContain("open.txt");
    expect(listed.output).not.toMatch(/secrets|\.key|private/);
    expect((await run(environment, "search_files", { pattern: "hidden" })).output).toBe("[no matches]");
    for (const path of ["private", "h", "../home"]) {
      const words = expect.stringMatching(refusalOf(path));
      expect(await run(environment, "list_files", { path })).toMatchObject({ output: words });
      expect(await run(environment, "search_files", { path, pattern: "x" })).toMatchObject({ output: words });
    }
  });

  test("does not reach further: inner links, the scratchpad and siblings stay open", async () => {
    const { environment, root } = await createGuarded();
    expect((await run(environment, "read_file", { file_path: "inner" })).output).toContain("open");
    const kept = join(root, "home/scratchpad/out.txt");
    expect((await run(environment, "read_file", { file_path: kept })).output).toContain("output");
    expect((await run(environment, "read_file", { file_path: "far/../open.txt" })).output).toContain("far");
    expect((await run(environment, "read_file", { file_path: "cafe.txt" })).output).toContain("There is no file");
    await mkdir(join(root, "home-other"));
    const sibling = join(root, "home-other/a.txt");
    expect(await run(environment, "write_file", { file_path: sibling, content: "x" })).toMatchObject({
      status: "completed",
    });
  });

  test("is forbidden also below a directory with a line feed in its name", async () => {
    const { environment, workspaceDir } = await createGuarded();
    await mkdir(join(workspaceDir, "two\nlines"));
    for (const name of [".secrets.toml", "tls\n.key", "open"]) {
      await writeFile(join(workspaceDir, "two\nlines", name), "content\n");
    }
    const read = (name: string) => run(environment, "read_file", { file_path: `two\nlines/${name}` });
    expect((await read(".secrets.toml")).output).toContain("is not allowed");
    expect((await read("tls\n.key")).output).toContain("is not allowed");
    expect((await read("open")).output).toContain("content");
    const found = await run(environment, "search_files", { pattern: "content" });
    expect(found.output).not.toContain("tls");
    expect(found.output).not.toContain(".secrets");
  });

  test("a file with a second name is open where neither of them is forbidden", async () => {
    const { environment, root, workspaceDir } = await createGuarded();
    await link(join(workspaceDir, "open.txt"), join(workspaceDir, "sub/second.txt"));
    await link(join(root, "home/scratchpad/out.txt"), join(root, "home/scratchpad/out2.txt"));
    for (const file_path of ["sub/second.txt", "open.txt", join(root, "home/scratchpad/out2.txt")]) {
      expect(await run(environment, "read_file", { file_path })).toMatchObject({ status: "completed" });
    }
    const found = await run(environment, "search_files", { pattern: "open" });
    expect(found.output).toBe("open.txt:1: open\nsub/second.txt:1: open");
  });

  test("shows no preview, and is not reached by a link that was changed after it was looked at", async () => {
    const { environment, root, workspaceDir } = await createGuarded();
    for (const file_path of [".secrets.toml", "n.txt", join(root, "home/config.toml")]) {
      expect(await environment.preview(callOf("write_file", { file_path, content: "x" }))).toBeUndefined();
      const edit = { file_path, old_string: "hidden", new_string: "x" };
      expect(await environment.preview(callOf("edit_file", edit))).toBeUndefined();
    }
    const guard = new FileGuard({
      workspaceDir,
      scratchpadDir: join(root, "home/scratchpad"),
      forbiddenFiles: [".secrets.toml"],
      forbiddenPaths: [join(root, "home")],
    });
    // Resolved as a directory of its own, opened when it leads into the home.
    const realPath = join(workspaceDir, "turned/config.toml");
    await symlink(join(root, "home"), join(workspaceDir, "turned"));
    await expect(openFile(guard, "turned/config.toml", realPath)).rejects.toThrow("is not allowed");
    await expect(openFile(guard, "n.txt", join(workspaceDir, "n.txt"))).rejects.toThrow("no regular file");
    const change = { path: "x", bytes: Buffer.of(1), seen: undefined, signal: new AbortController().signal };
    for (const name of ["turned/x", "turned/x/y", "turned/scratchpad/x"]) {
      await expect(writeAtomically({ ...change, realPath: join(workspaceDir, name) })).rejects.toThrow(
        /leads elsewhere by now|is a file, not a directory/,
      );
    }
    expect(await readdir(join(root, "home/scratchpad"))).toEqual(["out.txt"]);
    expect((await readdir(join(root, "home"))).sort()).toEqual(["config.toml", "scratchpad"]);
  });

  test("is also what a descriptor says that has lost its name since", async () => {
    const { root, workspaceDir } = await createGuarded();
    const guard = new FileGuard({
      workspaceDir,
      scratchpadDir: join(root, "s"),
      forbiddenFiles: ["*.key"],
      forbiddenPaths: [],
    });
    const stats = await stat(join(workspaceDir, "open.txt"), { bigint: true });
    const realPath = join(workspaceDir, "sub/old.key (deleted)");
    expect(() => guard.checkOpened("x", { stats, realPath })).toThrow("is not allowed");
    const named = new FileGuard({ ...guard.options, forbiddenFiles: ["open.txt"] });
    expect(() => named.checkOpened("x", { stats, realPath: undefined })).toThrow("is not allowed");
  });

  test("a directory of it that is mounted elsewhere is found by what it is", async () => {
    const { root, workspaceDir } = await createGuarded();
    // What a mount shows at another path is the same directory; here both paths are written through a link that
    // is never followed.
    await symlink(join(root, "home"), join(root, "mount"));
    const guard = new FileGuard({
      workspaceDir,
      scratchpadDir: join(root, "s"),
      forbiddenFiles: [],
      forbiddenPaths: [join(root, "home")],
    });
    expect(guard.isForbiddenDirectory(join(root, "mount"))).toBe(true);
    expect(guard.isForbiddenDirectory(workspaceDir)).toBe(false);
    const stats = await stat(join(workspaceDir, "open.txt"), { bigint: true });
    expect(() => guard.checkOpened("x", { stats, realPath: join(root, "mount/config.toml") })).toThrow("not allowed");
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

describe("where writing is limited", () => {
  test("what lies elsewhere is read and not written, by whatever name", async () => {
    const { environment, root, workspaceDir } = await createWorld((top) => ({
      writable: {
        roots: [join(top, "ws"), join(top, "tmp")],
        except: [join(top, "ws/.git/hooks"), join(top, "ws/.git/config")],
      },
    }));
    await mkdir(join(workspaceDir, ".git/hooks"), { recursive: true });
    await mkdir(join(root, "tmp"));
    const siblings = ["ws-other", "WS", "ws.", "ws "];
    for (const name of siblings) await mkdir(join(root, name));
    const contents = [
      join(workspaceDir, ".git/config"),
      ...siblings.map((name) => join(root, name, "a")),
      join(root, "a"),
    ];
    for (const path of contents) await writeFile(path, "old");
    await symlink("../ws-other", join(workspaceDir, "link"));
    await symlink(".git/hooks", join(workspaceDir, "hooks"));
    const write = (file_path: string) => run(environment, "write_file", { file_path, content: "new" });
    for (const path of [
      ".git/config",
      ".git/hooks/pre-commit",
      "hooks/x",
      ".GIT/config",
      "link/a",
      "../a",
      ...siblings.map((name) => join(root, name, "a")),
    ]) {
      const words = `Writing to ${JSON.stringify(path)} is not allowed in this sandbox.`;
      expect((await write(path)).output).toBe(words);
      const edit = { file_path: path, old_string: "old", new_string: "new" };
      expect((await run(environment, "edit_file", edit)).output).toBe(words);
      expect(await environment.preview(callOf("edit_file", edit))).toBeUndefined();
    }
    for (const path of ["a", ".git/other", join(root, "tmp/a")]) expect((await write(path)).status).toBe("completed");
    expect((await run(environment, "read_file", { file_path: "link/a" })).output).toContain("old");
    expect(await readdir(join(workspaceDir, ".git/hooks"))).toEqual([]);
  });
});

test("links that go in a circle and NUL are refused with words", async () => {
  const { environment, workspaceDir } = await createWorld();
  await symlink("b", join(workspaceDir, "a"));
  await symlink("a", join(workspaceDir, "b"));
  expect((await run(environment, "read_file", { file_path: "a" })).output).toContain("go in a circle");
  expect((await run(environment, "read_file", { file_path: "a\0b" })).output).toContain("NUL");
});
