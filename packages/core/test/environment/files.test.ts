import { chmod, lstat, mkdir, readdir, stat, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { pngOf, worldWith } from "./file-world.ts";
import { callOf, run } from "./support.ts";

describe("edit_file", () => {
  test("LF in old_string matches CR LF, and the line ends stay", async () => {
    const { environment, text } = await worldWith({ a: "a\r\nb\r\nc\r\n" });
    const ran = await run(environment, "edit_file", { file_path: "a", old_string: "a\nb", new_string: "a\nB" });
    expect(ran.status).toBe("completed");
    expect(ran.output).toContain("-b");
    expect(ran.output).toContain("+B");
    expect(await text("a")).toBe("a\r\nB\r\nc\r\n");
  });

  test("in a file of mixed line ends only the edited place changes", async () => {
    const { environment, text } = await worldWith({ a: "a\r\nb\nc\r\n" });
    await run(environment, "edit_file", { file_path: "a", old_string: "c", new_string: "C\nD" });
    expect(await text("a")).toBe("a\r\nb\nC\r\nD\r\n");
    await run(environment, "edit_file", { file_path: "a", old_string: "a\nb\nC", new_string: "1\n2\n3" });
    expect(await text("a")).toBe("1\r\n2\n3\r\nD\r\n");
  });

  test.each([false, true])("the replacement is literal (replace_all %s)", async (all) => {
    const { environment, text } = await worldWith({ a: 'log("done");' });
    const literal = 'log("$& $$ $1 $\' $` ok");';
    const args = { file_path: "a", old_string: 'log("done");', new_string: literal, replace_all: all };
    await run(environment, "edit_file", args);
    expect(await text("a")).toBe(literal);
  });

  test("what is not unique or not there is failed, with words, and changes nothing", async () => {
    const { environment, text } = await worldWith({ a: "x\n  y  z\nx\n" });
    const edit = (old: string, more = {}) =>
      run(environment, "edit_file", { file_path: "a", old_string: old, new_string: "q", ...more });
    expect(await edit("x")).toMatchObject({
      status: "failed",
      output: expect.stringContaining("stands 2 times in a (lines 1, 3)"),
    });
    expect(await edit("nope")).toMatchObject({ status: "failed", output: expect.stringContaining("not found") });
    expect((await edit("y z")).output).toContain("Line 2 is like it but for white space");
    // Too much to look for: the hint is left out.
    expect((await edit("y z\n".repeat(400_000))).output).toContain("Read the file and copy the text exactly");
    expect((await edit("")).output).toContain("`old_string` is empty");
    expect((await edit("q")).output).toContain("are the same");
    expect(await text("a")).toBe("x\n  y  z\nx\n");
    expect(await edit("x", { replace_all: true })).toMatchObject({ output: expect.stringContaining("2 replacements") });
    expect(await text("a")).toBe("q\n  y  z\nq\n");
  });

  test.each([
    ["UTF-8 with mark", Buffer.from("\uFEFFé one\r\n🐧\r\n")],
    ["UTF-16 LE", Buffer.from("\uFEFFé one\r\n🐧\r\n", "utf16le")],
    ["UTF-16 BE", Buffer.from("\uFEFFé one\r\n🐧\r\n", "utf16le").swap16()],
    ["Latin-1", Buffer.from("é one\r\n\xff\xfe\r\n", "latin1")],
  ])("%s stays what it is", async (_name, before) => {
    const { environment, workspaceDir, bytes } = await worldWith({ a: before });
    await chmod(join(workspaceDir, "a"), 0o750);
    await run(environment, "edit_file", { file_path: "a", old_string: "one", new_string: "two" });
    const there = await run(environment, "edit_file", { file_path: "a", old_string: "é two\n", new_string: "é one\n" });
    expect(there.status).toBe("completed");
    expect(await bytes("a")).toEqual(before);
    expect((await stat(join(workspaceDir, "a"))).mode & 0o777).toBe(0o750);
  });

  test("edits of one file at once are applied one after another", async () => {
    const { environment, workspaceDir, text } = await worldWith({ a: "0\n" });
    await symlink("a", join(workspaceDir, "b"));
    const edits = Array.from({ length: 20 }, (_, index) => ({
      file_path: index % 2 === 0 ? "a" : "b",
      old_string: `${index}\n`,
      new_string: `${index + 1}\n`,
    }));
    const ran = await Promise.all(edits.map((edit) => run(environment, "edit_file", edit)));
    expect(ran.map((one) => one.status)).toEqual(edits.map(() => "completed"));
    expect(await text("a")).toBe("20\n");
  });

  test("the rest of the file is byte-equal, whatever it is", async () => {
    const { environment, workspaceDir, text } = await worldWith({});
    const piece = fc.string({ unit: fc.constantFrom("\r\n", "\n", "\r", "a", "é", "🐧", "$&"), maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(piece, piece, async (before, after) => {
        await writeFile(join(workspaceDir, "f"), `${before}<old>${after}`);
        await run(environment, "read_file", { file_path: "f" });
        await run(environment, "edit_file", { file_path: "f", old_string: "<old>", new_string: "<$&new>" });
        expect(await text("f")).toBe(`${before}<$&new>${after}`);
      }),
      { numRuns: 60 },
    );
  });

  test("a preview shows the diff and changes nothing", async () => {
    const { environment, text } = await worldWith({ a: "one\n" });
    const call = callOf("edit_file", { file_path: "a", old_string: "one", new_string: "two" });
    expect((await environment.preview(call))?.diff).toContain("-one\n+two\n");
    expect(await text("a")).toBe("one\n");
  });
});

describe("write_file", () => {
  test("creates directories, answers with a diff and leaves nothing beside the file", async () => {
    const { environment, workspaceDir, text } = await worldWith({});
    const ran = await run(environment, "write_file", { file_path: "x/y/z.txt", content: "new\n" });
    expect(ran.output).toContain("Created x/y/z.txt (4 bytes).");
    expect(ran.output).toContain("+new");
    expect(await text("x/y/z.txt")).toBe("new\n");
    expect(await readdir(join(workspaceDir, "x/y"))).toEqual(["z.txt"]);
  });

  test("writes through a link and keeps the mode", async () => {
    const { environment, workspaceDir, text } = await worldWith({ real: "old" });
    await chmod(join(workspaceDir, "real"), 0o755);
    await symlink("real", join(workspaceDir, "name"));
    const ran = await run(environment, "write_file", { file_path: "name", content: "new" });
    expect(ran.status).toBe("completed");
    expect(await text("real")).toBe("new");
    expect((await lstat(join(workspaceDir, "name"))).isSymbolicLink()).toBe(true);
    expect((await stat(join(workspaceDir, "real"))).mode & 0o777).toBe(0o755);
  });

  test("what cannot be written is failed, and no rest of it stays", async () => {
    const { environment, workspaceDir } = await worldWith({ file: "" });
    await mkdir(join(workspaceDir, "dir"));
    for (const file_path of ["dir", "file/below"]) {
      expect(await run(environment, "write_file", { file_path, content: "x" })).toMatchObject({ status: "failed" });
    }
    expect((await readdir(workspaceDir)).sort()).toEqual(["dir", "file"]);
  });
});

describe("read_file", () => {
  test("numbers lines, and goes on where it is told", async () => {
    const { environment } = await worldWith({ a: "\uFEFFone\r\ntwo\nthree" });
    const read = (more = {}) => run(environment, "read_file", { file_path: "a", ...more });
    expect((await read()).output).toBe("     1\tone\n     2\ttwo\n     3\tthree");
    expect((await read({ offset: 2, limit: 1 })).output).toBe("     2\ttwo\n[more lines follow: go on with offset 3]");
    expect(await read({ offset: 4 })).toMatchObject({
      status: "failed",
      output: expect.stringContaining("has 3 lines"),
    });
  });

  test("a large file is read page by page, with every line whole", async () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `line ${index + 1}`);
    const { environment } = await worldWith({ a: lines.join("\n") });
    const seen: string[] = [];
    for (let offset: number | undefined = 1; offset !== undefined; ) {
      const { output } = await run(environment, "read_file", { file_path: "a", offset });
      expect(output.length).toBeLessThan(16_000);
      seen.push(...[...output.matchAll(/^ *\d+\t(.*)$/gm)].map((match) => match[1] ?? ""));
      offset = Number(/offset (\d+)\]$/.exec(output)?.[1]) || undefined;
    }
    expect(seen).toEqual(lines);
  });

  test("a file that does not fit memory is read by lines", async () => {
    const { environment } = await worldWith({ a: `${"x".repeat(9 * 1024 * 1024)}\nlast\n` });
    const { output } = await run(environment, "read_file", { file_path: "a" });
    expect(output).toMatch(/^ {5}1\tx{2000} \[… the line goes on\]\n {5}2\tlast$/);
  });

  test("binary files are told, images shown, empty files named", async () => {
    const png = pngOf(3, 2);
    const { environment } = await worldWith({ a: Buffer.from([1, 0, 2]), "b.dat": png, c: "" });
    expect((await run(environment, "read_file", { file_path: "a" })).output).toBe("[binary file, 3 bytes: not shown]");
    const image = await run(environment, "read_file", { file_path: "b.dat" });
    expect(image.output).toBe(`[image/png, 3 × 2 pixels, ${png.length} bytes]`);
    expect(image.payload.images).toEqual([`data:image/png;base64,${png.toString("base64")}`]);
    expect((await run(environment, "read_file", { file_path: "c" })).output).toBe("[the file is empty]");
  });
});
