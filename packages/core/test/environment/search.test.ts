import { chmod, mkdir, symlink, truncate, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { runSearchJob } from "../../src/environment/files/search-job.ts";
import { ToolError } from "../../src/environment/tool-error.ts";
import { worldWith } from "./file-world.ts";
import { callOf, createWorld, run } from "./support.ts";

async function createTree() {
  const world = await createWorld();
  const files: Record<string, string | Buffer> = {
    ".gitignore": "dist/\n*.log\n!keep.log\n",
    "a.ts": "const alpha = 1;\r\nconst beta = 2;\r\n",
    "src/b.ts": "alpha\n",
    "src/.gitignore": "local.ts\n",
    "src/local.ts": "alpha\n",
    "src/deep/c.md": "Alpha\n",
    "dist/out.js": "alpha\n",
    "x.log": "alpha\n",
    "keep.log": "alpha\n",
    ".git/config": "alpha\n",
    "data.bin": Buffer.from("alpha\0"),
    "../outside/o.ts": "alpha\n",
  };
  for (const [name, content] of Object.entries(files)) {
    const path = join(world.workspaceDir, name);
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, content);
  }
  await symlink("../outside", join(world.workspaceDir, "link"));
  await symlink(".", join(world.workspaceDir, "src/circle"));
  return world;
}

describe("list_files", () => {
  test("gives what is there, nearest first, without what .gitignore names and without following links", async () => {
    const { environment } = await createTree();
    expect((await run(environment, "list_files", {})).output.split("\n")).toEqual([
      ".gitignore",
      "a.ts",
      "data.bin",
      "keep.log",
      "link",
      "src/",
      "src/.gitignore",
      "src/b.ts",
      "src/circle",
      "src/deep/",
      "src/deep/c.md",
    ]);
  });

  test("heeds a glob, with and without a slash, and rules above the path", async () => {
    const { environment } = await createTree();
    const list = async (args: object) => (await run(environment, "list_files", args)).output.split("\n");
    expect(await list({ glob: "*.ts" })).toEqual(["a.ts", "src/b.ts"]);
    expect(await list({ glob: "src/**/*.{ts,md}" })).toEqual(["src/b.ts", "src/deep/c.md"]);
    expect(await list({ path: "src", glob: "*.log" })).toEqual(["[no files]"]);
    expect(await list({ path: "src/deep" })).toEqual(["src/deep/c.md"]);
  });

  test("a link does not lead out of the Workspace, and a file is no directory", async () => {
    const { environment } = await createTree();
    expect((await run(environment, "list_files", { path: "link" })).output).toContain("leads out of the Workspace");
    expect((await run(environment, "list_files", { path: "a.ts" })).output).toContain("is not a directory");
    expect((await run(environment, "list_files", { path: "none" })).output).toContain("There is no file none");
  });
});

describe("search_files", () => {
  test("gives file, line and text of each match", async () => {
    const { environment } = await createTree();
    const search = async (args: object) => (await run(environment, "search_files", args)).output.split("\n");
    expect(await search({ pattern: "\\balpha\\b" })).toEqual([
      "a.ts:1: const alpha = 1;",
      "keep.log:1: alpha",
      "src/b.ts:1: alpha",
    ]);
    expect(await search({ pattern: "[aA]lpha", path: "src" })).toEqual(["src/b.ts:1: alpha", "src/deep/c.md:1: Alpha"]);
    expect(await search({ pattern: "const", path: "a.ts", limit: 1 })).toEqual([
      "a.ts:1: const alpha = 1;",
      "[more than 1: narrow the pattern, the path or the glob]",
    ]);
    expect(await search({ pattern: "nowhere" })).toEqual(["[no matches]"]);
  });

  test("a pattern that is no expression is failed, with the reason", async () => {
    const { environment } = await createTree();
    const ran = await run(environment, "search_files", { pattern: "(" });
    expect(ran).toMatchObject({ status: "failed", output: expect.stringContaining("is no regular expression") });
  });

  test("an expression that runs away ends with its call and hangs nobody", async () => {
    const { environment, workspaceDir } = await createTree();
    await writeFile(join(workspaceDir, "long.txt"), `${"x".repeat(80)}\n`);
    const controller = new AbortController();
    const search = run(environment, "search_files", { pattern: "(x+x+)+y" }, { signal: controller.signal });
    expect((await run(environment, "read_file", { file_path: "long.txt" })).status).toBe("completed");
    controller.abort();
    expect((await search).status).toBe("aborted");
  });

  test("has no preview", async () => {
    const { environment } = await createTree();
    expect(await environment.preview(callOf("search_files", { pattern: "a" }))).toBeUndefined();
  });
});

describe("what git ignores", () => {
  test("is known from the whole repository, its own excludes and the user's, and from nothing else", async () => {
    const rules = {
      "repo/.gitignore": "*.tmp\n",
      "repo/.git/info/exclude": "private\n",
      "config/git/ignore": ".idea/\n",
    };
    const { call, workspaceDir } = await worldWith({
      ...rules,
      ".gitignore": "*.ts\n",
      "repo/sub/a.ts": "",
      "repo/sub/a.tmp": "",
      "repo/sub/private": "",
      "repo/sub/.idea/x": "",
      "repo/sub/.gitignore": "!kept.tmp\n",
      "repo/sub/kept.tmp": "",
    });
    const before = process.env["XDG_CONFIG_HOME"];
    process.env["XDG_CONFIG_HOME"] = join(workspaceDir, "config");
    try {
      expect((await call("list_files", { path: "repo/sub" })).output.split("\n")).toEqual([
        "repo/sub/.gitignore",
        "repo/sub/a.ts",
        "repo/sub/kept.tmp",
      ]);
    } finally {
      if (before === undefined) delete process.env["XDG_CONFIG_HOME"];
      else process.env["XDG_CONFIG_HOME"] = before;
    }
  });

  test("is shown to who asks for what is in it", async () => {
    const { call } = await worldWith({
      ".gitignore": "vendor/\n*.log\n",
      "vendor/lib/a.js": "alpha\n",
      "vendor/lib/.gitignore": "b.js\n",
      "vendor/lib/b.js": "alpha\n",
      "sub/y.log": "alpha\n",
      "x.log": "alpha\n",
    });
    expect((await call("list_files", { path: "vendor/lib" })).output).toBe("vendor/lib/.gitignore\nvendor/lib/a.js");
    expect((await call("search_files", { path: "vendor", pattern: "alpha" })).output).toBe("vendor/lib/a.js:1: alpha");
    expect((await call("search_files", { path: "x.log", pattern: "alpha" })).output).toBe("x.log:1: alpha");
    expect((await call("search_files", { pattern: "alpha" })).output).toBe("[no matches]");
    expect((await call("search_files", { path: "sub", pattern: "alpha" })).output).toBe("[no matches]");
  });

  test("minds case, and no name is too odd for it", async () => {
    const { call, workspaceDir } = await worldWith({
      ".gitignore": "Build\n\\\n[\n**/**/**\u0000\n",
      "build/a": "",
      ".../b": "",
      "....txt": "",
      "..c": "",
      "new\nline": "",
    });
    await symlink("build/a", join(workspaceDir, "build/.gitignore"));
    expect((await call("list_files", {})).output.split("\n")).toEqual([
      ".../",
      "....txt",
      "..c",
      ".gitignore",
      "build/",
      '"new\\nline"',
      ".../b",
      "build/.gitignore",
      "build/a",
    ]);
  });
});

describe("a search", () => {
  test("finds what stands at the end of a line, whatever ends it, and no line after the last", async () => {
    const { call } = await worldWith({ a: "x;\r\ny;\n\n", empty: "" });
    expect((await call("search_files", { pattern: ";$" })).output).toBe("a:1: x;\na:2: y;");
    expect((await call("search_files", { pattern: "^$" })).output).toBe("a:3: ");
    expect((await call("search_files", { pattern: "(?i)^X" })).output).toBe("a:1: x;");
    expect((await call("search_files", { pattern: "(?i" })).status).toBe("failed");
  });

  test("shows the part of a long line that matches, and ends at its limit", async () => {
    const { call } = await worldWith({
      a: `${"x".repeat(7_000_000)}needle${"🐧".repeat(1000)}`,
      b: "y\n".repeat(2000),
    });
    const { output } = await call("search_files", { pattern: "needle" });
    expect(output).toMatch(/^a:1: …x{100}needle(🐧)+…$/u);
    expect(output.length).toBeLessThan(330);
    const many = (await call("search_files", { pattern: "y", limit: 1000 })).output;
    expect(many).toMatch(/b:1000: y\n\[more than 1000: narrow/);
  });

  test("reads text in its encoding, skips what is binary, and tells what is too large", async () => {
    const { call, workspaceDir } = await worldWith({
      wide: Buffer.from("\uFEFFcafé\n", "utf16le"),
      old: Buffer.from("caf\xe9\n", "latin1"),
      marked: "\uFEFFcafé\n",
      binary: Buffer.from("café\0"),
      large: "café\n",
    });
    await truncate(join(workspaceDir, "large"), 20_000_000);
    expect((await call("search_files", { pattern: "^café$" })).output).toBe(
      "marked:1: café\nold:1: café\nwide:1: café\n[not searched, since larger than 8 MiB: large; search them by a command]",
    );
  });

  test("goes down a deep tree and many names, and stops where it is told", async () => {
    const deep = Array.from({ length: 150 }, () => "d").join("/");
    const wide = Object.fromEntries(Array.from({ length: 1200 }, (_, index) => [`wide/${index}`, ""]));
    const { call } = await worldWith({ ...wide, [`${deep}/end.txt`]: "alpha\n" });
    expect((await call("search_files", { pattern: "alpha" })).output).toBe(`${deep}/end.txt:1: alpha`);
    const listed = await call("list_files", {});
    expect(listed.output).toMatch(/\[more than 1000: give a path further down, or a glob\]$/);
    expect((await call("list_files", { glob: "end.*" })).output).toBe(`${deep}/end.txt`);
  });

  test("with a glob that runs away ends with its call", async () => {
    const { environment } = await worldWith({ [`${"a".repeat(60)}b`]: "" });
    const controller = new AbortController();
    const glob = `${"+(a|aa|*)".repeat(6)}c`;
    const search = run(environment, "list_files", { glob }, { signal: controller.signal });
    expect((await run(environment, "read_file", { file_path: "none" })).status).toBe("failed");
    controller.abort();
    expect((await search).status).toBe("aborted");
  });
});

test("a directory that may not be looked into is told, not shown as empty; one further down is passed over", async () => {
  const { call, workspaceDir } = await worldWith({ "closed/a.txt": "alpha\n", "b.txt": "alpha\n" });
  await chmod(join(workspaceDir, "closed"), 0o000);
  onTestFinished(() => chmod(join(workspaceDir, "closed"), 0o700));
  const isSuperuser = process.getuid?.() === 0;
  const inside = "closed/a.txt:1: alpha";
  for (const [tool, args] of [
    ["list_files", {}],
    ["search_files", { pattern: "alpha" }],
  ] as const) {
    const { output, status } = await call(tool, { ...args, path: "closed" });
    if (isSuperuser) expect(status).toBe("completed");
    else expect(output).toMatch(/^The system does not permit access to \S*\/closed\.$/);
  }
  const all = (await call("search_files", { pattern: "alpha" })).output.split("\n");
  expect(all).toEqual(isSuperuser ? ["b.txt:1: alpha", inside] : ["b.txt:1: alpha"]);
});

test("what is gone when the search begins is told in words", async () => {
  const { workspaceDir, scratchpadDir } = await worldWith({});
  const guard = { workspaceDir, scratchpadDir, forbiddenFiles: [], forbiddenPaths: [] };
  const root = join(workspaceDir, "gone");
  const search = runSearchJob({ guard, root, limit: 10 }, new AbortController().signal);
  await expect(search).rejects.toThrow(new ToolError(`There is no file ${root}.`));
});

test("without a directory to be in, a list and a search fail in words", async () => {
  const { call } = await worldWith({ "b.txt": "alpha\n" });
  const cwd = vi.spyOn(process, "cwd").mockImplementation(() => {
    throw Object.assign(new Error("ENOENT: no such file or directory, uv_cwd"), { code: "ENOENT" });
  });
  onTestFinished(() => cwd.mockRestore());
  expect((await call("list_files", {})).output).toMatch(/^The directory in which Coxswain was started is gone: /);
  cwd.mockRestore();
  expect((await call("list_files", {})).output).toBe("b.txt");
});
