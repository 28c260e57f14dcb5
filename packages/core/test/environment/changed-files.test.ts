import { chmod, readdir, rm, stat, symlink, utimes, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { builtInTools } from "../../src/environment/built-in-tools.ts";
import { writeAtomically } from "../../src/environment/files/atomic-write.ts";
import { LocalEnvironment } from "../../src/environment/local-environment.ts";
import { worldWith } from "./file-world.ts";
import { callOf, run } from "./support.ts";

const told = "changed since you last read it";

describe("a file that was changed since it was read", () => {
  test("is told by an edit, which changes its own place alone, until it is read again", async () => {
    const { call, workspaceDir, text } = await worldWith({ a: "one\ntwo\n" });
    await call("read_file", { file_path: "a" });
    await writeFile(join(workspaceDir, "a"), "one\nTWO\n");
    expect((await call("edit_file", { file_path: "a", old_string: "one", new_string: "1" })).output).toContain(told);
    const gone = await call("edit_file", { file_path: "a", old_string: "two", new_string: "2" });
    expect(gone).toMatchObject({ status: "failed", output: expect.stringContaining(told) });
    expect(await text("a")).toBe("1\nTWO\n");
    await call("read_file", { file_path: "a" });
    expect((await call("edit_file", { file_path: "a", old_string: "1", new_string: "one" })).output).not.toContain(
      told,
    );
  });

  test("is not overwritten, nor is every place of it replaced, before it is read again", async () => {
    const { call, workspaceDir, text } = await worldWith({ a: "one\n" });
    await call("read_file", { file_path: "a" });
    await run((await worldWith({})).environment, "exec_command", { cmd: "echo one >> a", workdir: workspaceDir });
    for (const [tool, args] of [
      ["write_file", { content: "" }],
      ["edit_file", { old_string: "one", new_string: "1", replace_all: true }],
    ] as const) {
      const ran = await call(tool, { file_path: "a", ...args });
      expect(ran).toMatchObject({ status: "failed", output: expect.stringContaining(told) });
    }
    await call("edit_file", { file_path: "a", old_string: "one\none", new_string: "one\n1" });
    expect((await call("write_file", { file_path: "a", content: "" })).status).toBe("failed");
    expect(await text("a")).toBe("one\n1\n");
    await call("read_file", { file_path: "a" });
    expect((await call("write_file", { file_path: "a", content: "new" })).status).toBe("completed");
  });

  test("is one whose bytes are others: a new time alone is no change, an old one hides none", async () => {
    const { call, workspaceDir } = await worldWith({ a: "one\n" });
    const path = join(workspaceDir, "a");
    await call("read_file", { file_path: "a" });
    const { atime, mtime } = await stat(path);
    await utimes(path, 1, 1);
    expect((await call("edit_file", { file_path: "a", old_string: "one", new_string: "two" })).output).not.toContain(
      told,
    );
    await writeFile(path, "2wo\n");
    await utimes(path, atime, mtime);
    expect((await call("write_file", { file_path: "a", content: "" })).output).toContain(told);
  });

  test("is not one that this Session's own calls changed, several of them at once", async () => {
    const { call, environment, text } = await worldWith({ a: "1\n2\n3\n" });
    await call("read_file", { file_path: "a" });
    const edits = ["1", "2", "3"].map((old) => ({ file_path: "a", old_string: old, new_string: `<${old}>` }));
    for (const edit of edits) await environment.preview(callOf("edit_file", edit));
    const ran = await Promise.all(edits.map((edit) => call("edit_file", edit)));
    for (const { output } of ran) expect(output).not.toContain("changed");
    expect((await call("write_file", { file_path: "a", content: "x" })).status).toBe("completed");
    expect(await text("a")).toBe("x");
  });
});

test("what was changed between the question and the answer is not overwritten, and told by an edit", async () => {
  const { environment, workspaceDir, text } = await worldWith({ a: "one\n" });
  const decide = async (tool: string, args: object, meanwhile: () => Promise<void>) => {
    const toolCall = callOf(tool, args);
    await environment.preview(toolCall);
    await meanwhile();
    const outputs: string[] = [];
    for await (const { payload } of environment.executeTool({ toolCall })) {
      if ("output" in payload && typeof payload.output === "string") outputs.push(payload.output);
    }
    return outputs.at(-1);
  };
  const path = join(workspaceDir, "a");
  const change = (content: string) => () => writeFile(path, content);
  const shown = "changed since this was shown for a decision";
  expect(await decide("write_file", { file_path: "a", content: "new" }, change("ONE\n"))).toContain(shown);
  expect(
    await decide("write_file", { file_path: "b", content: "new" }, () => writeFile(join(workspaceDir, "b"), "old")),
  ).toContain(shown);
  const edit = { file_path: "a", old_string: "ONE", new_string: "1" };
  expect(await decide("edit_file", edit, change("ONE\nTWO\n"))).toContain("changed after this edit had been shown");
  expect(await text("a")).toBe("1\nTWO\n");
  expect(await text("b")).toBe("old");
});

test("two Sessions that edit one file at once lose nothing", async () => {
  const { environment, workspaceDir, scratchpadDir, text } = await worldWith({ a: "start\n" });
  const other = new LocalEnvironment({ workspaceDir, scratchpadDir, tools: builtInTools() });
  const edits = Array.from({ length: 16 }, (_, index) =>
    run(index % 2 === 0 ? environment : other, "edit_file", {
      file_path: "a",
      old_string: "start\n",
      new_string: `start\n${index}\n`,
    }),
  );
  for (const { status } of await Promise.all(edits)) expect(status).toBe("completed");
  expect((await text("a")).split("\n").length).toBe(18);
  await other.dispose();
});

describe("writing in one step", () => {
  const change = (realPath: string) => ({
    path: "a",
    realPath,
    bytes: Buffer.from("new"),
    seen: undefined,
    signal: new AbortController().signal,
  });

  test("stops when something has come in between, and leaves nothing behind", async () => {
    const { workspaceDir, text } = await worldWith({ a: "theirs" });
    const path = join(workspaceDir, "a");
    await expect(writeAtomically(change(path))).rejects.toThrow("a was changed while this was done");
    const seen = await stat(path, { bigint: true });
    await writeFile(path, "others");
    await expect(writeAtomically({ ...change(path), seen })).rejects.toThrow("changed while this was done");
    await rm(path);
    await expect(writeAtomically({ ...change(path), seen })).rejects.toThrow("changed while this was done");
    await writeFile(path, "there");
    const current = await stat(path, { bigint: true });
    const signal = AbortSignal.abort(new Error("stopped"));
    await expect(writeAtomically({ ...change(path), seen: current, signal })).rejects.toThrow("stopped");
    expect(await readdir(workspaceDir)).toEqual(["a"]);
    expect(await text("a")).toBe("there");
  });

  test("does not follow a directory that has become a link", async () => {
    const { root, workspaceDir } = await worldWith({ "elsewhere/x": "" });
    await symlink("elsewhere", join(workspaceDir, "dir"));
    for (const name of ["dir/a", "dir/new/a"]) {
      await expect(writeAtomically(change(join(workspaceDir, name)))).rejects.toThrow();
    }
    expect(await readdir(join(workspaceDir, "elsewhere"))).toEqual(["x"]);
    expect(await readdir(root)).toContain("ws");
  });

  test("does not follow a link that has come in the place of the file, and says so", async () => {
    const { workspaceDir, text } = await worldWith({ other: "theirs" });
    await symlink("other", join(workspaceDir, "a"));
    const words = "a is no regular file (a link that changed meanwhile)";
    await expect(writeAtomically(change(join(workspaceDir, "a")))).rejects.toThrow(words);
    expect(await text("other")).toBe("theirs");
    expect(await readdir(workspaceDir)).toEqual(["a", "other"]);
  });

  test("takes names as long as the system does, and says when one is too long", async () => {
    const { call, workspaceDir, text } = await worldWith({});
    for (const name of ["船".repeat(85), "a".repeat(255)]) {
      expect((await call("write_file", { file_path: name, content: "1" })).status).toBe("completed");
      const edited = await call("edit_file", { file_path: name, old_string: "1", new_string: "2" });
      expect(edited.status).toBe("completed");
      expect(await text(name)).toBe("2");
    }
    const tooLong = await call("write_file", { file_path: "船".repeat(86), content: "1" });
    expect(tooLong.output).toContain("too long for the system");
    expect((await call("read_file", { file_path: "a/".repeat(3000) })).output).toContain("more than 4096 bytes");
    expect((await readdir(workspaceDir)).length).toBe(2);
  });

  test.each([0o600, 0o755, 0o4755])("keeps mode %o", async (mode) => {
    const { call, workspaceDir } = await worldWith({ a: "one" });
    await chmod(join(workspaceDir, "a"), mode);
    await call("edit_file", { file_path: "a", old_string: "one", new_string: "two" });
    await call("write_file", { file_path: "a", content: "three" });
    expect((await stat(join(workspaceDir, "a"))).mode & 0o7777).toBe(mode);
  });

  test("a read-only file is left alone, whoever asks", async () => {
    const { call, workspaceDir, text } = await worldWith({ a: "one" });
    await chmod(join(workspaceDir, "a"), 0o444);
    const edited = await call("edit_file", { file_path: "a", old_string: "one", new_string: "two" });
    const written = await call("write_file", { file_path: "a", content: "two" });
    for (const ran of [edited, written]) expect(ran.output).toContain("a is read-only");
    expect(await text("a")).toBe("one");
  });

  test("through a link that leads nowhere yet, its target is made, and named", async () => {
    const { call, workspaceDir, text } = await worldWith({});
    await symlink("sub/target", join(workspaceDir, "name"));
    const ran = await call("write_file", { file_path: "name", content: "new" });
    expect(ran.output).toContain("Created name (which is sub/target)");
    expect(ran.output).toContain("+++ sub/target");
    expect(await text("sub/target")).toBe("new");
  });

  test("what is there already is not written again; a name that ends in a slash is none of a file", async () => {
    const { call, workspaceDir } = await worldWith({ a: "same" });
    await utimes(join(workspaceDir, "a"), 1, 1);
    expect((await call("write_file", { file_path: "a", content: "same" })).output).toBe(
      "a holds exactly this already.",
    );
    expect((await stat(join(workspaceDir, "a"))).mtimeMs).toBe(1000);
    expect((await call("write_file", { file_path: "new/", content: "" })).output).toContain("names a directory");
    expect(await readdir(workspaceDir)).toEqual(["a"]);
  });
});
