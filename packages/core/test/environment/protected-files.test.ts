import { mkdir, mkdtemp, readdir, readFile, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test } from "vitest";
import { withAliases } from "../../src/environment/sandbox/mount-aliases.ts";
import { ownInstallation } from "../../src/environment/sandbox/own-installation.ts";
import { protectedFiles } from "../../src/environment/sandbox/repositories.ts";

let root: string;

beforeEach(async () => {
  root = await realpath(await mkdtemp(join(tmpdir(), "protected-test-")));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
});

async function write(path: string, text = ""): Promise<string> {
  const file = join(root, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, text);
  return file;
}

async function repository(path: string, config: string): Promise<void> {
  for (const name of ["objects/x", "refs/x", "hooks/x"]) await write(`${path}/.git/${name}`);
  await write(`${path}/.git/HEAD`, "ref: refs/heads/main\n");
  await write(`${path}/.git/config`, config);
}

describe("what git obeys in a Workspace", () => {
  const own = [".git/config", ".git/hooks"];
  const below = async (path: string): Promise<string[]> => {
    const { paths } = await protectedFiles(join(root, path), { homeDirs: [join(root, "home")], configurations: [] });
    return paths.map((file) => file.slice(join(root, path).length + 1)).sort();
  };

  test("is each file that a configuration includes, however it is written, and what that includes", async () => {
    const config = [
      "[include] path = ../plain",
      '[Include]\n\tPATH="../with space" # a comment',
      `[includeIf "gitdir:~/x"]\n\tpath = ${join(root, "ws/absolute")} ; another`,
      "[include]\n\tpath = ../contin\\\nued\r",
      "\tpath = ~/person",
      '\tpath = "../quo\\"ted"',
      "\tpath = ../../outside",
      "\tpath = ../missing",
    ].join("\n");
    await repository("ws", config);
    const named = ["plain", "with space", "absolute", "continued", 'quo"ted'];
    for (const name of named) await write(`ws/${name}`, name === "plain" ? "[include]\npath=deep/er\n" : "");
    await write("ws/deep/er", "[include]\npath = ../plain\n");
    await write("home/person", `[include]\npath = ${join(root, "ws/by-person")}`);
    await write("ws/by-person");
    await write("outside");
    expect(await below("ws")).toEqual([...own, ...named, "deep/er", "missing", "by-person"].sort());
    expect(await readFile(join(root, "ws/missing"), "utf8")).toBe("");
  });

  test("is a person's own configuration that lies there, and what it includes there", async () => {
    const file = await write("ws/dotfiles/gitconfig", "[include]\npath = more\n");
    const more = await write("ws/dotfiles/more");
    await mkdir(join(root, "home"));
    await symlink(file, join(root, "home/.gitconfig"));
    const configurations = [join(root, "home/.gitconfig")];
    const found = await protectedFiles(join(root, "ws"), { homeDirs: [], configurations });
    expect(found.paths).toContain(file);
    expect(found.warnings).toEqual([]);
    // A path is relative to the name that was asked for.
    expect(found.paths).not.toContain(more);
  });

  test("is a worktree's configuration where that counts, which is made, and nowhere else", async () => {
    await repository("ws", "[extensions]\n\tworktreeConfig = true\n");
    for (const [name, text] of [
      ["HEAD", "x"],
      ["commondir", "../.."],
      ["gitdir", "/x/.git"],
    ] as const) {
      await write(`ws/.git/worktrees/tree/${name}`, text);
    }
    await repository("ws/other", "[core]\n");
    const paths = await below("ws");
    expect(paths).toContain(".git/config.worktree");
    expect(paths).toContain(".git/worktrees/tree/config.worktree");
    expect(await readdir(join(root, "ws/other/.git"))).not.toContain("config.worktree");
  });

  test("is told where a link or a missing directory keeps it from being protected", async () => {
    await repository("ws", "[include]\npath = ../linked\npath = ../no/where\n");
    await symlink("target", join(root, "ws/linked"));
    await write("ws/target");
    const { paths, warnings } = await protectedFiles(join(root, "ws"));
    expect(paths).toContain(join(root, "ws/target"));
    expect(warnings).toEqual([
      expect.stringContaining("ws/linked is reached by a link"),
      expect.stringMatching(/git obeys .*\/no\/where once it is there/),
    ]);
  });

  test("is also that of a package which brings a repository, without a look into all others", async () => {
    await repository("ws/node_modules/dep", "");
    await repository("ws/node_modules/@scope/dep", "");
    await write("ws/node_modules/other/package.json");
    const names = ["node_modules/dep", "node_modules/@scope/dep"];
    expect(await below("ws")).toEqual(names.flatMap((name) => own.map((file) => join(name, file))).sort());
  });

  test("is not waited for where somebody has put something else", async () => {
    await repository("ws", "[include]\npath = ../device\npath = ..\npath = ../loop\n");
    await symlink("/dev/zero", join(root, "ws/device"));
    await symlink("loop", join(root, "ws/loop"));
    const { paths } = await protectedFiles(join(root, "ws"));
    expect(paths).toContain(join(root, "ws/.git/config"));
  });
});

describe("our own code", () => {
  test("outside of the Workspace needs nothing", async () => {
    const file = await write("lib/node_modules/@coxswain/core/dist/a/b.js");
    await mkdir(join(root, "ws"));
    expect(ownInstallation(file, "/usr/bin/node", join(root, "ws"))).toEqual({ paths: [], warnings: [] });
  });

  test("in a directory of packages is protected with all of them", async () => {
    await write("ws/node_modules/@coxswain/core/package.json");
    const file = await write("ws/node_modules/@coxswain/core/dist/a/b.js");
    const { paths, warnings } = ownInstallation(file, "/usr/bin/node", join(root, "ws"));
    expect(paths).toEqual([join(root, "ws/node_modules")]);
    expect(warnings).toEqual([expect.stringMatching(/cannot change .*ws\/node_modules: install it elsewhere/)]);
  });

  test("in its own repository is protected with its other packages, and no package can be put before another", async () => {
    await write("ws/packages/core/package.json");
    const file = await write("ws/packages/core/dist/a/b.js");
    await write("ws/packages/cli/package.json");
    await write("ws/packages/cli/dist/main.js");
    await write("ws/packages/cli/src/main.ts");
    await mkdir(join(root, "ws/node_modules/@coxswain"), { recursive: true });
    for (const name of ["core", "cli"]) {
      await symlink(`../../packages/${name}`, join(root, "ws/node_modules/@coxswain", name));
    }
    const { paths } = ownInstallation(file, "/usr/bin/node", join(root, "ws"));
    const expected = [
      "node_modules",
      "packages/cli/dist",
      "packages/cli/package.json",
      "packages/core/dist",
      "packages/core/node_modules",
      "packages/core/package.json",
      "packages/node_modules",
    ];
    expect(paths.toSorted()).toEqual(expected.map((path) => join(root, "ws", path)));
    expect(await readdir(join(root, "ws/packages/node_modules"))).toEqual([]);
  });

  test("is the program that runs it too", async () => {
    await write("ws/package.json");
    const program = await write("ws/.local/bin/node");
    expect(ownInstallation("/usr/lib/a.js", program, join(root, "ws")).paths).toEqual([program]);
  });
});

describe("a hidden place that is mounted elsewhere", () => {
  const line = (device: string, from: string, at: string): string => `30 1 ${device} ${from} ${at} rw - ext4 /dev/x rw`;

  test("is hidden there too, whether more or less of its file system is", () => {
    const table = [
      line("8:1", "/", "/"),
      line("8:2", "/@home", "/home"),
      line("8:2", "/", "/mnt/all\\040of\\040it"),
      line("8:2", "/@home/u/.ssh/deep", "/mnt/deep"),
      line("8:2", "/@home/u", "/data/u"),
      line("8:2", "/@other", "/mnt/other"),
      line("8:3", "/@home", "/mnt/another"),
      "garbage",
      "",
    ].join("\n");
    expect(withAliases(["/home/u/.ssh", "/etc/shadow"], table)).toEqual([
      "/home/u/.ssh",
      "/etc/shadow",
      "/mnt/all of it/@home/u/.ssh",
      "/mnt/deep",
      "/data/u/.ssh",
    ]);
  });

  test("is nowhere else when the system tells nothing", () => {
    expect(withAliases(["/home/u/.ssh"], "")).toEqual(["/home/u/.ssh"]);
  });
});
