import { stripVTControlCharacters } from "node:util";
import { toolCall } from "@coxswain/protocol";
import fc from "fast-check";
import { expect, test } from "vitest";
import { callKey, shortCall, wholeCall } from "../src/tool-call-text.ts";
import { ControlStripper, inOneLine, jsonLine, showHidden, stripControls } from "../src/terminal-text.ts";

const controls = /[\u202a-\u202e\u2066-\u2069]|[^\P{Cc}\n\t]/u;
const piece = fc.oneof(
  fc.constantFrom(
    "\x1b",
    "\x1b[",
    "\x1b]",
    "\x9b",
    "\x9d",
    "\x90",
    "\x07",
    "\x1b\\",
    "\x9c",
    "31m",
    "0;",
    "?25h",
    "\n",
    "\t",
    "\r",
  ),
  fc.string({ unit: "binary", maxLength: 6 }),
);
const hostile = fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join(""));

test("no control character is left, whatever comes", () => {
  fc.assert(
    fc.property(hostile, (text) => {
      expect(stripControls(text)).not.toMatch(controls);
    }),
  );
});

test("where a text is cut into fragments makes no difference", () => {
  fc.assert(
    fc.property(hostile, fc.array(fc.nat({ max: 80 }), { maxLength: 6 }), (text, cuts) => {
      const at = [...new Set(cuts.filter((cut) => cut < text.length))].sort((a, b) => a - b);
      const fragments = [0, ...at].map((start, index) => text.slice(start, at[index] ?? text.length));
      const stripper = new ControlStripper();
      expect(fragments.map((fragment) => stripper.push(fragment)).join("")).toBe(stripControls(text));
    }),
  );
});

test("a text without control characters is left as it is", () => {
  const plain = fc.string({ unit: "grapheme" }).filter((text) => !controls.test(text));
  fc.assert(
    fc.property(plain, (text) => {
      expect(stripControls(text)).toBe(text);
    }),
  );
});

test.each([
  ["colours", "a\x1b[1;31mb\x1b[0mc"],
  ["a cursor movement", "a\x1b[2Ab\x9b1Kc"],
  ["a window title", "a\x1b]0;title\x07bc"],
  ["a link", "a\x1b]8;;http://x\x1b\\b\x1b]8;;\x1b\\c"],
])("%s is taken out as the platform does it", (_name, text) => {
  expect(stripControls(text)).toBe("abc");
  expect(stripControls(text)).toBe(stripVTControlCharacters(text));
});

test("a sequence that never ends hides one line at most", () => {
  expect(stripControls("a\x1b]0;hidden\nseen")).toBe("a\nseen");
  expect(stripControls(`a\x1b]0;${"x".repeat(400)}seen`)).toMatch(/^ax+seen$/);
});

test("a message is one line", () => {
  expect(inOneLine(" a\r\n\tb\x1b[2J\u2028c ")).toBe("a b c");
});

test("no character turns the direction of what stands behind it", () => {
  expect(stripControls("a\u202egnp.exe \u2066b\u2069 \u061c\u200fשלום")).toBe("agnp.exe b \u061c\u200fשלום");
  expect(jsonLine("\u202e")).toBe('"\\u202e"');
});

test("JSON without control characters parses to the same", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(jsonLine({ text })).not.toMatch(controls);
      expect(JSON.parse(jsonLine({ text }))).toEqual({ text });
    }),
  );
});

const call = (name: string, args: unknown) => ({
  type: "tool_call" as const,
  role: "assistant" as const,
  name,
  arguments: typeof args === "string" ? args : JSON.stringify(args),
  tool_call_id: "1",
});

test("what would be hidden from the person who decides is shown as an escape", () => {
  const shown = wholeCall(call("exec_command", { cmd: "ls \x1b]0;; rm -rf x\x07 \u202egnp.exe" }));
  expect(shown).toContain("ls \\u001b]0;; rm -rf x\\u0007 \\u202egnp.exe");
  fc.assert(
    fc.property(hostile, (text) => {
      expect(showHidden(text)).not.toMatch(controls);
    }),
  );
});

test("a text in characters that nobody sees is shown to the person who decides, and an emoji is left alone", () => {
  const unseen = [0xad, 0x34f, 0x115f, 0x17b4, 0x180e, 0x2800, 0x3164, 0xfe00, 0xfff9, 0xffa0, 0xe0041, 0xe0101];
  for (const code of unseen) {
    const digits = code.toString(16);
    const escape = code > 0xffff ? `\\u{${digits}}` : `\\u${digits.padStart(4, "0")}`;
    expect(showHidden(`a${String.fromCodePoint(code)}b`)).toBe(`a${escape}b`);
  }
  expect(showHidden("\u2764\ufe0f a\ufe0f \u2764\ufe0f\ufe0f \u00e9 \u4e2d")).toBe(
    "\u2764\ufe0f a\\ufe0f \u2764\ufe0f\\ufe0f \u00e9 \u4e2d",
  );
});

test("nothing of a call is left out when it is decided about", () => {
  const shown = wholeCall(call("write_file", { file_path: "a", content: "one\ntwo\n", description: "why" }));
  expect(shown).toBe("write_file\n  file_path: a\n  content:\n    one\n    two\n    \n  description: why");
  expect(wholeCall(call("x", "{not json"))).toContain("{not json");
});

test("in the course of events a call is one short line", () => {
  expect(shortCall(call("exec_command", { cmd: "make\nmake test", description: "why" }))).toBe(
    "exec_command: make make test",
  );
  expect(shortCall(call("read_file", { file_path: "a", limit: 3 }))).toBe("read_file: file_path=a limit=3");
  expect(shortCall(call("list_files", ""))).toBe("list_files");
  expect(shortCall(call("write_file", { content: "x".repeat(5000) }))).toHaveLength(200);
});

test("the same call is the same in any order and with any remark; another command is another call", () => {
  const key = callKey(call("exec_command", { cmd: "ls", workdir: "a" }));
  expect(callKey(call("exec_command", { description: "x", workdir: "a", cmd: "ls" }))).toBe(key);
  expect(callKey(call("exec_command", { cmd: "ls; rm x", workdir: "a" }))).not.toBe(key);
  expect(callKey(call("exec_command", { cmd: "ls" }))).not.toBe(key);
  expect(callKey(call("other", { cmd: "ls", workdir: "a" }))).not.toBe(key);
});

test("a description is no remark in the call of a tool that does not come with Coxswain", () => {
  const [mild, other] = ["mild", "other"].map((description) => call("create_issue", { title: "x", description }));
  if (mild === undefined || other === undefined) throw new Error("two calls");
  expect(callKey(mild)).not.toBe(callKey(other));
  expect(shortCall(mild)).toBe("create_issue: title=x description=mild");
});

test("arguments that are nested too deeply to be written are shown as such, and are a key of their own", () => {
  const deep = (name: string) => ({
    name: "exec_command",
    arguments: `{"cmd":"${name}","a":${"[".repeat(20_000)}${"]".repeat(20_000)}}`,
  });
  const [one, other] = ["one", "other"].map((name) => toolCall({ ...deep(name), toolCallId: "1" }));
  if (one === undefined || other === undefined) throw new Error("two calls");
  expect(wholeCall(one.payload)).toContain("[nested too deeply to be shown]");
  expect(shortCall(one.payload)).toBe("exec_command: one");
  expect(callKey(one.payload)).not.toBe(callKey(other.payload));
});
