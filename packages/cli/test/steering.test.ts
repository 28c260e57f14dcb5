import { Writable } from "node:stream";
import { expect, onTestFinished, test } from "vitest";
import { OutputStream } from "../src/output/output-stream.ts";
import { Screen } from "../src/output/screen.ts";
import { startSteering } from "../src/typing/steering.ts";
import { createKeyboard, turnsOfTheEventLoop } from "./keyboard.ts";

function setUp({ isRunning = true, columns = 20 } = {}) {
  let shown = "";
  const sink = Object.assign(
    new Writable({
      write(chunk: Buffer, _encoding, done) {
        shown += chunk.toString();
        done();
      },
    }),
    { isTTY: true, columns },
  );
  const { keys, clock, controller, keyboard, jobControl } = createKeyboard();
  const output = new OutputStream({ stream: sink, signal: controller.signal, onError: () => undefined });
  const screen = new Screen({ stdout: output, stderr: output, env: { NO_COLOR: "1" } });
  const said: string[] = [];
  const steer = (text: string): boolean => {
    if (isRunning) said.push(text);
    return isRunning;
  };
  keyboard.hold();
  onTestFinished(() => keyboard.close());
  const stop = startSteering({ keyboard, screen, steer });
  return { keys, clock, controller, keyboard, jobControl, screen, said, stop, shown: () => shown };
}

test("a line that is typed while a Task runs is said to it, and shown as such", async () => {
  const { keys, said, shown } = setUp();
  for (const piece of ["look in", "to b", "\x7fa.txt", "\r", "\r"]) await keys.type(piece);
  expect(said).toEqual(["look into a.txt"]);
  expect(shown()).toContain("[steer] goes with the next request: look into a.txt\n");
});

test("lines that are pasted together are one thing to say, and control codes are no part of it", async () => {
  const { keys, said } = setUp();
  await keys.type("\x1b[200~one\rtwo\x1b[31m\r\x1b[201~");
  expect(said).toEqual(["one\ntwo"]);
});

test("a character that comes in two halves is one", async () => {
  const { keys, said } = setUp();
  const bytes = Buffer.from("\u00fc\r");
  keys.write(bytes.subarray(0, 1));
  await turnsOfTheEventLoop(3);
  keys.write(bytes.subarray(1));
  await turnsOfTheEventLoop(3);
  expect(said).toEqual(["\u00fc"]);
});

test("what is being typed stays below what is shown meanwhile, in one row", async () => {
  const { keys, screen, shown } = setUp();
  await keys.type("and then all of the rest");
  await screen.line("[done] x");
  const row = "> \u2026 all of the rest";
  expect(shown().slice(shown().indexOf(row))).toBe(`${row}\r\x1b[K[done] x\n${row}`);
});

const family = "\u{1f468}\u200d\u{1f469}\u200d\u{1f467}";

test.each([
  ["two wide characters", "漢字", "漢字"],
  ["as many as there is room for", "一二三四五六七八", "一二三四五六七八"],
  ["more of them", "see 一二三四五六七八九十", "…三四五六七八九十"],
  ["emojis", `a ${"\u{1f600}".repeat(9)}`, `…${"\u{1f600}".repeat(8)}`],
  ["an emoji of three, which may be shown as three", `look at it now ${family}!`, `…t it now ${family}!`],
  ["an emoji of three at the edge", `x${family}look at it n`, "…look at it n"],
  ["accents that have no width", "e\u0301".repeat(17), "e\u0301".repeat(17)],
  ["more of them than there is room for", "e\u0301".repeat(18), `…${"e\u0301".repeat(16)}`],
  ["very many", `${"a\u0301\u0302\u0303".repeat(400)}b`, `…${"a\u0301\u0302\u0303".repeat(15)}b`],
  ["one character without end", `go a${"\u0301".repeat(3000)}b`, "…b"],
])("a typed row is no wider than the terminal and begins with a whole character: %s", async (_name, text, row) => {
  const { keys, shown } = setUp();
  await keys.type(text);
  expect(shown()).toBe(`> ${row}`);
});

test.each([1, 3, 4])("in a terminal of %i columns no more than a mark is shown of what is typed", async (columns) => {
  const { keys, shown } = setUp({ columns });
  await keys.type("all of it");
  expect(shown()).toBe("> …");
});

test("what nobody can hear is told to be unsent", async () => {
  const { keys, said, shown } = setUp({ isRunning: false });
  await keys.type("too late\r");
  expect(said).toEqual([]);
  expect(shown()).toContain("[not sent] too late\n");
});

test.each(["a question", "the end"])(
  "a line that was begun before %s is not said, and told to be unsent",
  async (what) => {
    const { keys, keyboard, said, shown, stop } = setUp();
    await keys.type("and be qui");
    if (what === "the end") stop();
    const answered = keyboard.listen({ keys: () => undefined });
    await keys.type("ck\r");
    answered();
    expect(said).toEqual([]);
    expect(shown()).toContain("[not sent] and be qui\n");
  },
);

test("Ctrl-C interrupts, and the terminal stays ours until the end", async () => {
  const { keys, controller, keyboard, stop } = setUp();
  await keys.type("\x03");
  expect(controller.signal.aborted).toBe(true);
  stop();
  expect(keys.modes).toEqual([true]);
  keyboard.close();
  expect(keys.modes).toEqual([true, false]);
});

test("Ctrl-Z gives the terminal back before it stops, and takes it again when it goes on in the foreground", async () => {
  const { keys, keyboard, jobControl, said } = setUp();
  await keys.type("\x1a");
  expect(jobControl.suspended).toBe(1);
  await turnsOfTheEventLoop(2);
  expect(keys.modes).toEqual([true, false, true]);
  await keys.type("go\r");
  expect(said).toEqual(["go"]);
  jobControl.hasTerminal = false;
  await keys.type("\x1a");
  await turnsOfTheEventLoop(2);
  expect(keys.modes).toEqual([true, false, true, false]);
  keyboard.close();
  expect(keys.modes).toEqual([true, false, true, false]);
});

test("a command that went on in the background hears again what is typed once it is in front, also when no signal says so", async () => {
  const { keys, keyboard, clock, jobControl, said } = setUp();
  jobControl.hasTerminal = false;
  await keys.type("\x1a");
  for (let second = 0; second < 3; second++) {
    clock.advance(1000);
    await turnsOfTheEventLoop(2);
  }
  expect(keys.modes).toEqual([true, false]);
  expect(clock.sleeping).toEqual([1000]);
  jobControl.hasTerminal = true;
  clock.advance(1000);
  await turnsOfTheEventLoop(2);
  expect(keys.modes).toEqual([true, false, true]);
  expect(clock.sleeping).toEqual([]);
  await keys.type("go\r");
  expect(said).toEqual(["go"]);
  jobControl.hasTerminal = false;
  await keys.type("\x1a");
  keyboard.close();
  await turnsOfTheEventLoop(2);
  expect(clock.sleeping).toEqual([]);
});

test("a command in the background leaves the terminal alone", () => {
  const { keys, keyboard, jobControl } = createKeyboard();
  jobControl.hasTerminal = false;
  keyboard.hold();
  expect(keys.modes).toEqual([]);
  expect(keyboard.isHeld).toBe(false);
});
