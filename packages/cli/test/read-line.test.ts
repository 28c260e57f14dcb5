import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { readLine } from "../src/read-line.ts";

const never = new AbortController().signal;

test("a line is what was typed before Enter, and may be empty", async () => {
  const input = new PassThrough();
  input.write("  go on \nlater\n");
  expect(await readLine(input, never)).toBe("go on");
  const other = new PassThrough();
  other.write("\n");
  expect(await readLine(other, never)).toBe("");
});

test("words at which the input ends are a line, an end without any is none", async () => {
  expect(await readLine(new PassThrough().end("go on"), never)).toBe("go on");
  expect(await readLine(new PassThrough().end(), never)).toBeUndefined();
});

test("an interrupt ends the wait, also one that came before", async () => {
  const controller = new AbortController();
  const waiting = readLine(new PassThrough(), controller.signal);
  controller.abort();
  expect(await waiting).toBeUndefined();
  expect(await readLine(new PassThrough(), controller.signal)).toBeUndefined();
});
