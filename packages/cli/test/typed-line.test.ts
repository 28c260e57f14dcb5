import fc from "fast-check";
import { expect, test } from "vitest";
import { TypedLine } from "../src/typing/typed-line.ts";

function typed(...reads: string[]): string {
  const line = new TypedLine(1000);
  for (const keys of reads) expect(line.type(keys)).toEqual([]);
  return line.text;
}

test.each([
  ["F1 to F4", ["\x1bOP", "\x1bOQ", "\x1bOR", "\x1bOS"]],
  ["F1 to F4 on the console", ["\x1b[[A", "\x1b[[D"]],
  ["F5 and Shift-F1", ["\x1b[15~", "\x1b[1;2P", "\x1bO2P"]],
  ["the arrows, with Alt and Ctrl too", ["\x1b[A", "\x1bOA", "\x1b\x1b[A", "\x1b\x1bOA", "\x1b[1;3D", "\x1b[1;5C"]],
  ["Home, End, Delete", ["\x1b[H", "\x1bOF", "\x1b[3~"]],
  ["Shift-Tab", ["\x1b[Z"]],
  ["Alt with a letter", ["\x1bb", "\x1bf", "\x1bO", "\x1bP", "\x1bX"]],
  [
    "Alt with another key",
    ["\x1b[", "\x1b]", "\x1b^", "\x1b_", "\x1b ", "\x1b(", "\x1b.", "\x1b\u00fc", "\x1b\u{1f600}"],
  ],
  ["Escape, once and twice", ["\x1b", "\x1b\x1b"]],
])("%s: no text, and what follows is whole", (_name, keys) => {
  for (const key of keys) {
    expect(typed("go", key, "Over")).toBe("goOver");
    expect(typed("go", key, "[on]")).toBe("go[on]");
  }
});

test.each(["\x1bOP", "\x1b[A", "\x1b[15~", "\x1bb", "\x1b[[A", "\x1b]"])(
  "%j in the middle of a read is no text",
  (key) => {
    expect(typed(`go ${key}-on`)).toBe("go -on");
  },
);

test("a sequence that is split over two reads is no text, wherever it is split within a longer read", () => {
  const keys = "one\x1b[200~two\x1b[201~three\x1b[1;5Cfour\x1bOPfive";
  for (let at = 1; at < keys.length; at++) {
    expect(typed(keys.slice(0, at), keys.slice(at))).toBe("onetwothreefourfive");
  }
});

test("colours, titles and links in what is pasted are no text", () => {
  expect(typed("a\x1b[1;31mb\x1b]0;title\x07c\x1b]8;;http://x\x1b\\d\x9b31me")).toBe("abcde");
});

test("a sequence that never ends swallows no more than itself", () => {
  const line = new TypedLine(10_000);
  line.type(`a\x1b[${"1".repeat(100)}`);
  expect(line.type("go on\r").join("")).toMatch(/1go on$/);
  expect(line.type("b\x1b[12")).toEqual([]);
  expect(line.type("\rc\r")).toEqual(["b", "c"]);
});

test("a line that is given up takes the beginning of a sequence with it", () => {
  const line = new TypedLine(100);
  line.type("gone\x1b[");
  line.clear();
  expect(line.type("Again\r")).toEqual(["Again"]);
});

test("no control character is left but the tab, whatever is typed", () => {
  const piece = fc.oneof(
    fc.constantFrom("\x1b", "\x1b[", "\x1bO", "\x1b]", "\x9b", "\x07", "\x1b\\", "1;", "P", "\x7f", "\x15"),
    fc.string({ unit: "binary", maxLength: 4 }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (reads) => {
      const line = new TypedLine(1000);
      const lines = reads.flatMap((keys) => line.type(keys));
      for (const text of [...lines, line.text]) expect(text).not.toMatch(/[^\P{Cc}\t]/u);
    }),
  );
});
