import { Writable } from "node:stream";
import type { ReadStream } from "node:tty";
import { toolCall } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { askAtTerminal } from "../src/ask-at-terminal.ts";
import { OutputStream } from "../src/output/output-stream.ts";
import { Screen } from "../src/output/screen.ts";
import { Keyboard } from "./keyboard.ts";

function setUp() {
  let shown = "";
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      shown += chunk.toString();
      done();
    },
  });
  const controller = new AbortController();
  const output = new OutputStream({ stream: sink, signal: controller.signal, onError: () => undefined });
  const keyboard = new Keyboard();
  const screen = new Screen({ stdout: output, stderr: output, env: {} });
  const stdin = keyboard as unknown as ReadStream;
  const ask = askAtTerminal({
    screen,
    stdin,
    signal: controller.signal,
    interrupt: () => controller.abort(),
    preview: async () => ({ summary: "", workdir: "/work\x1b[2J", diff: "-old\n+new" }),
  });
  return { ask, keyboard, screen, controller, shown: () => shown };
}

const command = (cmd: string, toolCallId = "1") =>
  toolCall({ name: "exec_command", arguments: JSON.stringify({ cmd }), toolCallId });

test.each([
  ["y", "allow"],
  ["n", "deny"],
  ["a", "allow"],
  ["Y", "allow"],
  ["\x04", "deny"],
])("the key %j means %s", async (key, decision) => {
  const { ask, keyboard } = setUp();
  void keyboard.type(key);
  expect(await ask(command("ls"))).toBe(decision);
  expect(keyboard.modes).toEqual([true, false]);
});

test("the whole command is shown before the answer", async () => {
  const { ask, keyboard, shown } = setUp();
  void keyboard.type("n");
  await ask(command("make test && make install"));
  expect(shown()).toContain("cmd: make test && make install");
});

test("what would change, and where, is shown with the question, hidden characters made visible", async () => {
  const { ask, keyboard, shown } = setUp();
  void keyboard.type("n");
  await ask(command("ls"));
  expect(shown()).toMatch(/runs in \/work\\u001b\[2J\n {2}-old\n {2}\+new\n/);
});

test("a key that is no answer, and a text that was pasted, decide nothing", async () => {
  const { ask, keyboard } = setUp();
  const decision = ask(command("ls"));
  await keyboard.type("x");
  await keyboard.type("please say y");
  await keyboard.type("n");
  expect(await decision).toBe("deny");
});

test("always holds for exactly this command", async () => {
  const { ask, keyboard } = setUp();
  void keyboard.type("a");
  await ask(command("ls"));
  expect(await ask(command("ls", "2"))).toBe("allow");
  expect(keyboard.modes).toEqual([true, false]);
  void keyboard.type("n");
  expect(await ask(command("ls; id", "3"))).toBe("deny");
});

test("Ctrl-C interrupts and restores the terminal", async () => {
  const { ask, keyboard, controller } = setUp();
  void keyboard.type("\x03");
  expect(await ask(command("ls"))).toBe("deny");
  expect(controller.signal.aborted).toBe(true);
  expect(keyboard.modes).toEqual([true, false]);
});

test("an interrupt from elsewhere ends the question and restores the terminal", async () => {
  const { ask, keyboard, controller } = setUp();
  const decision = ask(command("ls"));
  await keyboard.type("x");
  controller.abort();
  expect(await decision).toBe("deny");
  expect(keyboard.modes).toEqual([true, false]);
});

test("while a question waits the screen is not free", async () => {
  const { ask, keyboard, screen } = setUp();
  const order: string[] = [];
  const decision = ask(command("ls")).then(() => order.push("answered"));
  const free = screen.free().then(() => order.push("free"));
  await keyboard.type("y");
  await Promise.all([decision, free]);
  expect(order).toContain("answered");
  expect(order.indexOf("free")).toBeGreaterThanOrEqual(0);
});
