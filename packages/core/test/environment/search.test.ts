import { mkdir, symlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
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
