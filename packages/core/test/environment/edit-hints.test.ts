import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { replaceText } from "../../src/environment/files/replace-text.ts";
import { worldWith } from "./file-world.ts";

test.each([
  ["tabs for spaces", "if (a) {\n\tb();\n}\n", "if (a) {\n    b();\n}", "Line 1 is like it but for tabs and spaces"],
  ["white space at the end of a line", "a\nb  \nc\n", "b\nc", "Line 2 is like it but for white space at its end"],
  ["white space within a line", "x\na  =  1\n", "a = 1", "Line 2 is like it but for white space"],
  ["other quotes and dashes", "say “no” – now\n", 'say "no" - now', "Line 1 is like it but for the kind of quotes"],
  [
    "another form of an accent",
    "cafe\u0301\n",
    "café",
    "Line 1 is like it but for the kind of quotes, dashes, spaces or accents",
  ],
  ["a space that does not break", "a\u00a0b\n", "a b", "Line 1 is like it but for"],
  ["other case", "x\nHello\n", "hello", "Line 2 is like it but for upper and lower case"],
  ["numbers of lines", "a\nb\n", "     1\ta\n     2\tb", "It is there without the line numbers"],
  ["lines that end in CR", "a\rb\r", "a\nb", "The lines of this file end in CR alone"],
  ["carriage returns within lines", "a\r\r\nb\n", "a\nb", "It is there but for carriage returns"],
  ["nothing like it", "a\n", "z", "Read the file and copy the text exactly"],
])("what is not found for %s is told so", async (_name, content, old_string, words) => {
  const { call, text } = await worldWith({ a: content });
  const ran = await call("edit_file", { file_path: "a", old_string, new_string: "new" });
  expect(ran.status).toBe("failed");
  expect(ran.output).toContain(`\`old_string\` was not found in a. ${words}`);
  expect(await text("a")).toBe(content);
});

test("where something stands more than once is told by its lines, as far as they are worth it", async () => {
  const { call } = await worldWith({ a: "x\ny\r\nx x\n", b: "x\n".repeat(50) });
  const edit = async (file_path: string) =>
    (await call("edit_file", { file_path, old_string: "x", new_string: "y" })).output;
  expect(await edit("a")).toContain("stands 3 times in a (lines 1, 3, 3): add lines around it");
  expect(await edit("b")).toContain("(lines 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, …)");
});

test("what is nearly the same is not looked for in more lines than one would wait for", async () => {
  const line = "a  b\n";
  const { call } = await worldWith({ few: line.repeat(20_000 - 1), many: line.repeat(20_001) });
  const edit = async (file_path: string) =>
    (await call("edit_file", { file_path, old_string: "a b", new_string: "c" })).output;
  expect(await edit("few")).toContain("Line 1 is like it but for white space");
  expect(await edit("many")).toContain("Read the file and copy the text exactly");
});

describe("line ends", () => {
  test.each([
    ["both are CR LF in the call, LF in the file", "a\nb\n", "a\r\nb", "a\r\nB", "a\nB\n"],
    ["CR LF asked for in a file of LF", "a\nb\n", "a\nb", "a\r\nb", "a\r\nb\n"],
    ["none in the file", "a", "a", "a\nb", "a\nb"],
    ["lone CR stays", "a\rb\r\nc\r\n", "b\nc", "b\nC", "a\rb\r\nC\r\n"],
  ])("%s", (_name, text, old, replacement, after) => {
    expect(replaceText(text, { old, new: replacement, all: false })).toMatchObject({ status: "replaced", text: after });
  });

  test("in 8 MiB of lines that end in CR LF are found, missed and counted", () => {
    const text = "xy\r\n".repeat(2_000_000);
    const edit = (old: string, all = false) => replaceText(`${text}end`, { old, new: "1\n2", all });
    expect(edit("nope\nno")).toEqual({ status: "not found" });
    expect(edit("xy\nend")).toMatchObject({ text: `${text.slice(0, -4)}1\r\n2`, count: 1 });
    expect(edit("xy\nxy", true)).toEqual({ status: "too large" });
    const many = replaceText(text.slice(0, 400_000), { old: "xy\n", new: "1\n2\n", all: true });
    expect(many).toMatchObject({ text: "1\r\n2\r\n".repeat(100_000), count: 100_000 });
  });

  test("are found quickly for many places", () => {
    const text = `a\r\n${"x ".repeat(150_000)}`;
    const replaced = replaceText(text, { old: "x", new: "\n", all: true });
    expect(replaced).toMatchObject({ status: "replaced", count: 150_000, text: `a\r\n${"\r\n ".repeat(150_000)}` });
  });
});

test("a whole file can be emptied, and an empty one has nothing to replace", async () => {
  const { call, text, workspaceDir } = await worldWith({ a: "all" });
  await call("edit_file", { file_path: "a", old_string: "all", new_string: "" });
  expect(await text("a")).toBe("");
  expect((await call("edit_file", { file_path: "a", old_string: "all", new_string: "x" })).output).toContain(
    "not found",
  );
  await writeFile(join(workspaceDir, "a"), "$&");
  await call("edit_file", { file_path: "a", old_string: "$&", new_string: "$`$'$$" });
  expect(await text("a")).toBe("$`$'$$");
});
