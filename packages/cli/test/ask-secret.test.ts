import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { askSecret } from "../src/ask-secret.ts";
import { OutputStream } from "../src/output/output-stream.ts";
import { Screen } from "../src/output/screen.ts";
import { createKeyboard } from "./keyboard.ts";

function setUp() {
  let shown = "";
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      shown += chunk.toString();
      done();
    },
  });
  const { keys, controller, keyboard } = createKeyboard();
  const output = new OutputStream({ stream: sink, signal: controller.signal, onError: () => undefined });
  const answer = (): Promise<string> =>
    askSecret("key?", {
      screen: new Screen({ stdout: output, stderr: output, env: {} }),
      keyboard,
      signal: controller.signal,
    });
  return { answer, keys, controller, shown: () => shown };
}

test.each([
  ["Enter ends it", "sk-abc\r", "sk-abc"],
  ["a line feed ends it", " sk-abc \nmore", "sk-abc"],
  ["the end of the input ends it", "sk-abc\x04", "sk-abc"],
  ["Enter alone is no answer", "\r", ""],
  ["backspace takes the last character", "sk-abX\x7fc\bc\r", "sk-abc"],
  ["Ctrl-U begins anew", "wrong\x15sk-abc\r", "sk-abc"],
  ["the marks of a paste are no part of it", "\x1b[200~sk-abc\x1b[201~\r", "sk-abc"],
  ["the Escape key and the arrows are no part of it", "sk\x1b[D-abc\r", "sk-abc"],
  ["what is longer than any key is cut", `${"a".repeat(10_000)}\r`, "a".repeat(8_192)],
])("%s", async (_name, typed, expected) => {
  const { answer, keys, shown } = setUp();
  const pending = answer();
  await keys.type(typed);
  expect(await pending).toBe(expected);
  expect(shown()).toBe("key?\n");
  expect(keys.modes).toEqual([true, false]);
});

test("what comes in pieces is one answer", async () => {
  const { answer, keys } = setUp();
  const pending = answer();
  for (const piece of ["sk", "-a", "bc\r"]) await keys.type(piece);
  expect(await pending).toBe("sk-abc");
});

test("Ctrl-C interrupts, gives nothing and restores the terminal", async () => {
  const { answer, keys, controller } = setUp();
  const pending = answer();
  await keys.type("sk-abc\x03");
  expect(await pending).toBe("");
  expect(controller.signal.aborted).toBe(true);
  expect(keys.modes).toEqual([true, false]);
});

test("an interrupt from elsewhere ends it and restores the terminal", async () => {
  const { answer, keys, controller } = setUp();
  const pending = answer();
  await keys.type("sk-a");
  controller.abort();
  expect(await pending).toBe("");
  expect(keys.modes).toEqual([true, false]);
});
