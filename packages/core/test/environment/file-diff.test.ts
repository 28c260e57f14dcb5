import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { applyPatch } from "diff";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { fileDiff } from "../../src/environment/files/file-diff.ts";
import { worldWith } from "./file-world.ts";
import { callOf } from "./support.ts";

const diffOf = (before: string, after: string): Promise<string> =>
  fileDiff({ path: "f", before, after, masked: (text) => text });
const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index + 1}\n`);

describe("a diff", () => {
  test("shows what changes, with three lines around it, and where a line feed is missing at the end", async () => {
    const before = numbered(9);
    const after = before.with(4, "LINE\n");
    const head = "--- f\n+++ f\n";
    expect(await diffOf(before.join(""), after.join(""))).toBe(
      `${head}@@ -2,7 +2,7 @@\n line 2\n line 3\n line 4\n-line 5\n+LINE\n line 6\n line 7\n line 8\n`,
    );
    expect(await diffOf("a", "a\n")).toBe(`${head}@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n`);
    expect(await diffOf("", "a\n")).toBe(`${head}@@ -0,0 +1,1 @@\n+a\n`);
    expect(await diffOf("a\n", "")).toBe(`${head}@@ -1,1 +0,0 @@\n-a\n`);
    expect(await diffOf("a\n", "a\n")).toBe("[nothing changes]\n");
  });

  test("of CR LF shows the lines alone, and tells of line ends that become others", async () => {
    expect(await diffOf("a\r\nb\r\n", "a\r\nB\r\n")).toBe("--- f\n+++ f\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n");
    expect(await diffOf("a\r\nb\r\n", "a\nb\n")).toBe("[CR LF line ends become LF line ends]\n");
    expect(await diffOf("a\r\nb\r\n", "a\nB\n")).toMatch(/^\[CR LF line ends become LF line ends\]\n--- f\n/);
    expect(await diffOf("a\r\nb\n", "a\nb\r\n")).toBe("[some line ends change]\n");
  });

  test("can be applied, whatever the texts are", async () => {
    const text = fc
      .array(fc.constantFrom("a\n", "b\n", "c\n", "\n", "d", "aa"), { maxLength: 14 })
      .map((lines) => lines.join(""));
    await fc.assert(
      fc.asyncProperty(text, text, async (before, after) => {
        fc.pre(before !== after);
        expect(applyPatch(before, await diffOf(before, after))).toBe(after);
      }),
      { numRuns: 200 },
    );
  });

  test("of a very long file is exact where little changes, and bounded where much does", async () => {
    const before = numbered(50_000);
    const little = before.with(40_000, "LINE\n");
    expect(await diffOf(before.join(""), little.join(""))).toContain("@@ -39998,7 +39998,7 @@\n line 39998");
    const other = before.map((line, index) => (index % 2 === 0 ? line : `new ${line}`));
    const much = await diffOf(before.join(""), other.join(""));
    expect(much.length).toBeLessThan(50_000);
    expect(much).toMatch(/^--- f\n\+\+\+ f\n@@ -1,50000 \+1,50000 @@\n line 1\n-line 2\n/);
    expect(much).toMatch(/\n\[… \d+ more lines of the diff\]\n$/);
    const created = await diffOf("", numbered(3000).join(""));
    expect(created).toContain("@@ -0,0 +1,3000 @@\n+line 1\n+line 2\n");
    expect(await diffOf("x".repeat(9_000_000), "y".repeat(9_000_000))).toMatch(
      /^--- f\n\+\+\+ f\n@@ -1,1 \+1,1 @@\n-x{999}\[… 9000001 characters\]\n\\ No newline at end of file\n\+y{999}\[…/,
    );
  });
});

test("a diff of millions of lines is told by its beginning and by how many lines there are", async () => {
  const crLf = "xy\r\n".repeat(2_000_000);
  const all = await diffOf(crLf, "a b\r\n".repeat(1_000_000));
  expect(all).toMatch(/^--- f\n\+\+\+ f\n@@ -1,2000000 \+1,1000000 @@\n-xy\n-xy\n/);
  const shown = all.split("\n").filter((line) => line === "-xy").length;
  expect(all).toMatch(new RegExp(`\\n\\[… ${3_000_000 - shown} more lines of the diff\\]\\n$`));
  const one = await diffOf(`${crLf}a\r\n${crLf}`, `${crLf}b\r\n${crLf}`);
  expect(one).toBe("--- f\n+++ f\n@@ -1999998,7 +1999998,7 @@\n xy\n xy\n xy\n-a\n+b\n xy\n xy\n xy\n");
});

test("a diff that is not the shortest can be applied too, also where a line ends as another one does", async () => {
  for (const [old, now] of [
    ["aaa\nend", "a\nend"],
    ["a\nend", "aaa\nend"],
    ["aaa", "a"],
  ]) {
    const before = `1\n2\n3\n4\n${"\n".repeat(20_500)}${old}`;
    const after = `1\n2\n3\n4\n${now}`;
    expect(applyPatch(before, await diffOf(before, after))).toBe(after);
    expect(applyPatch(after, await diffOf(after, before))).toBe(before);
  }
});

test("a long line is masked before it is cut", async () => {
  const masked = (text: string): string => text.replaceAll("secret", "[redacted]");
  const diff = await fileDiff({ path: "f", before: "", after: `${"x".repeat(996)}secret${"y".repeat(50)}\n`, masked });
  expect(diff).toContain("xxx[re[… 1053 characters]");
});

describe("a preview", () => {
  test("names the file that would be changed, not the name that leads to it, in one line", async () => {
    const { environment, workspaceDir, root } = await worldWith({ "src/real.txt": "one\n", "odd\n+++ name": "one\n" });
    await symlink("src/real.txt", join(workspaceDir, "README.md"));
    await symlink("../outside.txt", join(workspaceDir, "notes.md"));
    const edit = (file_path: string) => callOf("edit_file", { file_path, old_string: "one", new_string: "two" });
    const shown = await environment.preview(edit("README.md"));
    expect(shown?.summary).toBe("Edit README.md (which is src/real.txt).");
    expect(shown?.diff).toContain("--- src/real.txt\n+++ src/real.txt\n");
    const outside = await environment.preview(callOf("write_file", { file_path: "notes.md", content: "x\n" }));
    expect(outside?.summary).toBe(`Create notes.md (which is ${join(root, "outside.txt")}).`);
    expect(outside?.diff).toContain(`+++ ${join(root, "outside.txt")}\n`);
    expect((await environment.preview(edit("odd\n+++ name")))?.diff).toContain('--- "odd\\n+++ name"\n');
    expect((await environment.preview(edit("./src/../src/real.txt")))?.summary).toBe("Edit ./src/../src/real.txt.");
  });

  test("changes nothing, and makes nothing", async () => {
    const { environment, call, text } = await worldWith({ a: "one\n" });
    for (const file_path of ["a", "new/dir/b"]) {
      const shown = await environment.preview(callOf("write_file", { file_path, content: "two\n" }));
      expect(shown?.diff).toContain("+two\n");
    }
    expect(await text("a")).toBe("one\n");
    expect((await call("list_files", {})).output).toBe("a");
  });
});
