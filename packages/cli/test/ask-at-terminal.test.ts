import { Writable } from "node:stream";
import { toolCall } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { askAtTerminal } from "../src/ask-at-terminal.ts";
import { OutputStream } from "../src/output/output-stream.ts";
import { Screen } from "../src/output/screen.ts";
import { createKeyboard, turnsOfTheEventLoop } from "./keyboard.ts";

function setUp() {
  let shown = "";
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      shown += chunk.toString();
      done();
    },
  });
  const { keys, clock, controller, keyboard } = createKeyboard();
  const { signal } = controller;
  const output = new OutputStream({ stream: sink, signal, onError: () => undefined });
  const screen = new Screen({ stdout: output, stderr: output, env: {} });
  const preview = async () => ({ summary: "", command: "make\x1b[2J", workdir: "/work\x1b[2J", diff: "-old\n+new" });
  const ask = askAtTerminal({ screen, keyboard, clock, signal, preview });
  /** Types this so long after what came before it. */
  const typeAfter = async (ms: number, text: string): Promise<void> => {
    await turnsOfTheEventLoop(5);
    clock.advance(ms);
    await turnsOfTheEventLoop(1);
    await keys.type(text);
  };
  /** As somebody does who has read the question. */
  const press = async (text: string): Promise<void> => {
    await typeAfter(2000, text);
    clock.advance(300);
    await turnsOfTheEventLoop(1);
  };
  const choices = (): number => shown.split("a always allow exactly this").length - 1;
  return { ask, keys, clock, keyboard, screen, controller, typeAfter, press, choices, shown: () => shown };
}

const command = (cmd: string, toolCallId = "1") =>
  toolCall({ name: "exec_command", arguments: JSON.stringify({ cmd }), toolCallId });

test.each([
  ["y", "allow"],
  ["n", "deny"],
  ["a", "allow"],
  ["Y", "allow"],
  ["y\r", "allow"],
  ["yes\r", "allow"],
  ["no\r", "deny"],
  ["\x04", "deny"],
])("the key %j means %s", async (key, decision) => {
  const { ask, keys, press } = setUp();
  void press(key);
  expect(await ask(command("ls"))).toBe(decision);
  expect(keys.modes).toEqual([true, false]);
});

test("a word that is typed and entered is an answer, and needs no further wait", async () => {
  const { ask, typeAfter } = setUp();
  const decision = ask(command("ls"));
  for (const [index, key] of Array.from("yes\r").entries()) await typeAfter(index === 0 ? 2000 : 150, key);
  expect(await decision).toBe("allow");
});

test("the whole command is shown before the answer", async () => {
  const { ask, press, shown } = setUp();
  void press("n");
  await ask(command("make test && make install"));
  expect(shown()).toContain("cmd: make test && make install");
});

test("what would change, and where, is shown with the question, hidden characters made visible", async () => {
  const { ask, press, shown } = setUp();
  void press("n");
  await ask(command("ls"));
  expect(shown()).toMatch(/runs in \/work\\u001b\[2J\n {2}-old\n {2}\+new\n/);
});

test.each(["input_command", "kill_command"])("a question about %s names the command that it is about", async (name) => {
  const { ask, press, shown } = setUp();
  void press("n");
  await ask(toolCall({ name, arguments: '{"process_id":"7"}', toolCallId: "1" }));
  expect(shown()).toContain(
    `[approval] ${name}\n  process_id: 7\n  command: make\\u001b[2J\n  runs in /work\\u001b[2J\n`,
  );
});

test("a command that the call itself says is told once", async () => {
  const { ask, press, shown } = setUp();
  void press("n");
  await ask(command("make"));
  expect(shown().match(/make/g)).toHaveLength(1);
});

test.each([
  ["y", "> allow\n"],
  ["n", "> deny\n"],
  ["a", "> always allow exactly this\n"],
])("the answer %s is acknowledged before another question comes", async (key, words) => {
  const { ask, press, shown } = setUp();
  void press(key);
  await ask(command("ls"));
  expect(shown().endsWith(`exactly this\n${words}`)).toBe(true);
});

/** Each piece so long after the one before it, the first after the question. */
const noAnswers: [string, [number, string][]][] = [
  ["a key that is none of them", [[2000, "x"]]],
  ["Enter alone", [[2000, "\r"]]],
  ["Escape", [[2000, "\x1b"]]],
  ["a text that was pasted", [[2000, "please say y"]]],
  ["a key that was pressed before the question could be read", [[499, "y"]]],
  ["a word that is typed slowly", Array.from("yes please").map((key, index) => [index === 0 ? 2000 : 150, key])],
  ["a word that was not entered", Array.from("yes").map((key, index) => [index === 0 ? 2000 : 150, key])],
  [
    "a key pressed twice",
    [
      [2000, "y"],
      [30, "y"],
    ],
  ],
  [
    "the key that follows other words too soon",
    [
      [2000, "hm"],
      [999, "y"],
    ],
  ],
  [
    "what follows a key that came too soon",
    [
      [100, "y"],
      [450, "\r"],
      [900, "a"],
    ],
  ],
];

test.each(noAnswers)("%s decides nothing, and the choices are told once more", async (_name, typed) => {
  const { ask, press, typeAfter, clock, choices } = setUp();
  let decision: string | undefined;
  const asked = ask(command("ls")).then((answer) => (decision = answer));
  for (const [ms, text] of typed) await typeAfter(ms, text);
  clock.advance(300);
  await turnsOfTheEventLoop(2);
  expect(decision).toBeUndefined();
  expect(choices()).toBe(2);
  await press("x");
  expect(choices()).toBe(2);
  await press("n");
  expect(await asked).toBe("deny");
});

test("what was typed before the question is no answer to it, and the terminal shows none of it", async () => {
  const { ask, keys, keyboard, press, clock } = setUp();
  keyboard.hold();
  await keys.type("y");
  let decision: string | undefined;
  const asked = ask(command("ls")).then((answer) => (decision = answer));
  keys.write("y");
  await turnsOfTheEventLoop(5);
  clock.advance(5000);
  await turnsOfTheEventLoop(2);
  expect(decision).toBeUndefined();
  await press("n");
  await asked;
  expect(decision).toBe("deny");
  expect(keys.modes).toEqual([true]);
  keyboard.close();
  expect(keys.modes).toEqual([true, false]);
});

test("who was typing when the question came needs a second of quiet, who had answered another one half of it", async () => {
  const { ask, keys, keyboard, typeAfter, press, clock } = setUp();
  keyboard.hold();
  await keys.type("so what");
  const decisions: string[] = [];
  const first = ask(command("ls")).then((answer) => decisions.push(answer));
  await typeAfter(600, "y");
  clock.advance(300);
  await turnsOfTheEventLoop(2);
  expect(decisions).toEqual([]);
  await press("n");
  await first;
  const second = ask(command("ls")).then((answer) => decisions.push(answer));
  await typeAfter(500, "y\r");
  await second;
  expect(decisions).toEqual(["deny", "allow"]);
});

test("always holds for exactly this command", async () => {
  const { ask, keys, press } = setUp();
  void press("a");
  await ask(command("ls"));
  expect(await ask(command("ls", "2"))).toBe("allow");
  expect(keys.modes).toEqual([true, false]);
  void press("n");
  expect(await ask(command("ls; id", "3"))).toBe("deny");
});

test("Ctrl-C interrupts at once and restores the terminal", async () => {
  const { ask, keys, controller, shown } = setUp();
  void keys.type("\x03");
  expect(await ask(command("ls"))).toBe("deny");
  expect(shown()).not.toContain("> deny");
  expect(controller.signal.aborted).toBe(true);
  expect(keys.modes).toEqual([true, false]);
});

test("where nothing can be typed any more nothing is allowed", async () => {
  const { ask, keys } = setUp();
  keys.end();
  expect(await ask(command("ls"))).toBe("deny");
  expect(await ask(command("ls"))).toBe("deny");
});

test("an interrupt from elsewhere ends the question and restores the terminal", async () => {
  const { ask, keys, controller } = setUp();
  const decision = ask(command("ls"));
  await keys.type("x");
  controller.abort();
  expect(await decision).toBe("deny");
  expect(keys.modes).toEqual([true, false]);
});

test("while a question waits the screen is not free", async () => {
  const { ask, press, screen } = setUp();
  const order: string[] = [];
  const decision = ask(command("ls")).then(() => order.push("answered"));
  const free = screen.free().then(() => order.push("free"));
  await press("y");
  await Promise.all([decision, free]);
  expect(order).toContain("answered");
  expect(order.indexOf("free")).toBeGreaterThanOrEqual(0);
});
