import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { declaredName } from "../../src/llm/declaration/declared-name.ts";
import { declareTools } from "../../src/llm/declaration/tool-declarations.ts";
import { toolOf } from "./support/declared.ts";

describe("a name", () => {
  it("that every provider takes stays, and any other gets one that carries its hash", () => {
    for (const name of ["read_file", "_x", "A-1", "x".repeat(64)]) expect(declaredName(name)).toBe(name);
    expect(declaredName("read file")).toMatch(/^read_file_[0-9a-f]{8}$/);
    expect(declaredName("3d")).toMatch(/^_3d_[0-9a-f]{8}$/);
    expect(declaredName("")).toMatch(/^tool_[0-9a-f]{8}$/);
    expect(declaredName("日本")).toMatch(/^tool_[0-9a-f]{8}$/);
    for (const name of ["__proto__", "constructor", "toString"]) expect(declaredName(name)).not.toBe(name);
    expect(declaredName("read file")).not.toBe(declaredName("read.file"));
    expect(declaredName(`${"x".repeat(80)}1`)).not.toBe(declaredName(`${"x".repeat(80)}2`));
  });

  it("is changed once, and always to one that fits", () => {
    fc.assert(
      fc.property(fc.string({ unit: "binary", maxLength: 200 }), (name) => {
        const declared = declaredName(name);
        expect(declared).toMatch(/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/);
        expect(declaredName(declared)).toBe(declared);
        expect(declaredName(name)).toBe(declared);
      }),
    );
  });

  it("leads back to the tool's own, and one that is not ours to itself", () => {
    const names = ["read_file", "read file", "", "a\ud83d"];
    const { declared, ownName, problems } = declareTools(names.map((name) => toolOf({}, name)));
    expect(declared.map(({ name }) => ownName(name))).toEqual(names);
    for (const name of ["unknown", "constructor", "__proto__", ""]) expect(ownName(name)).toBe(name);
    expect(problems).toHaveLength(3);
    expect(problems[0]).toBe(
      `Tool "read file": declared as ${declaredName("read file")}, since providers do not take its name.`,
    );
  });

  it("that comes twice is the first tool's", () => {
    const { declared, problems } = declareTools([toolOf({}, "a", "1"), toolOf({}, "a", "2"), toolOf({}, "b", "3")]);
    expect(declared.map(({ description }) => description)).toEqual(["1", "3"]);
    expect(problems).toEqual(['Tool "a": left out; another tool of that name came first.']);
  });

  it("made to look like the changed one of another tool is left out", () => {
    const { declared, ownName, problems } = declareTools([toolOf({}, "a b"), toolOf({}, declaredName("a b"))]);
    expect(declared.map(({ name }) => ownName(name))).toEqual(["a b"]);
    expect(problems[1]).toContain(`already stands for another tool, "a b"`);
  });

  it("is shown safely and shortened", () => {
    const { problems } = declareTools([toolOf("x", `\u001b[31m\n${"x".repeat(1_000)}`), toolOf({}, 7)]);
    expect(problems[0]).toMatch(/^Tool "\\u001b\[31m\\nx{70,80}…": left out; its parameters are a string/);
    expect(problems[1]).toBe("A tool: left out; it has no name.");
  });
});

describe("a description", () => {
  it("that is absurdly long is cut between characters, and told", () => {
    const { declared, problems } = declareTools([toolOf({}, "a", `x${"😀".repeat(10_000)}`), toolOf({}, "b", 5)]);
    expect(declared[0]?.description).toHaveLength(8_191);
    expect(declared[0]?.description?.isWellFormed()).toBe(true);
    expect(declared[1]?.description).toBe("");
    expect(problems).toEqual(['Tool "a": its description is cut to 8192 characters.']);
  });
});
