import { expect, test } from "vitest";
import { readKeys } from "../src/typing/read-keys.ts";
import { createKeyboard } from "./keyboard.ts";

function ask({ keyboard, controller }: ReturnType<typeof createKeyboard>): Promise<string> {
  const keys = (text: string, answer: (value: string) => void): void => answer(text);
  return readKeys({ keyboard, signal: controller.signal, keys, otherwise: () => "nobody" });
}

test("a question takes the terminal also when what listened before it has lost it to another command", async () => {
  const world = createKeyboard();
  const { keyboard, keys, jobControl } = world;
  const stop = keyboard.listen({ keys: () => undefined });
  jobControl.hasTerminal = false;
  process.emit("SIGCONT");
  expect(keys.isPaused()).toBe(true);
  const answer = ask(world);
  expect(keys.modes.at(-1)).toBe(true);
  expect(keys.isPaused()).toBe(false);
  await keys.type("y");
  expect(await answer).toBe("y");
  stop();
});

test("a question that goes on in the background asks for the terminal, and does not give it up", async () => {
  const world = createKeyboard();
  const { keys, jobControl } = world;
  const answer = ask(world);
  jobControl.hasTerminal = false;
  process.emit("SIGCONT");
  expect(keys.modes).toEqual([true, false, true]);
  expect(keys.isPaused()).toBe(false);
  await keys.type("n");
  expect(await answer).toBe("n");
});
