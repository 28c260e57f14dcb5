import { Writable } from "node:stream";
import { expect, test } from "vitest";
import { OutputStream } from "../src/output/output-stream.ts";

/** A reader that takes nothing until it is told to, and may break. */
function setUp() {
  const waiting: ((error?: Error) => void)[] = [];
  const stream = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void waiting.push(done) });
  const controller = new AbortController();
  const errors: Error[] = [];
  const output = new OutputStream({ stream, signal: controller.signal, onError: (error) => errors.push(error) });
  return { output, controller, errors, finishWrite: (error?: Error) => waiting.shift()?.(error) };
}

async function isSettled(promise: Promise<void>): Promise<boolean> {
  let settled = false;
  void promise.then(() => (settled = true));
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

test("a writer waits for a slow reader", async () => {
  const { output, finishWrite } = setUp();
  const written = output.write("text");
  expect(await isSettled(written)).toBe(false);
  finishWrite();
  await written;
});

test("after an interrupt nobody waits for a reader, neither one who waited nor a later one", async () => {
  const { output, controller } = setUp();
  const written = output.write("text");
  controller.abort();
  await written;
  await output.write("more");
  await output.flush();
});

test("a reader that leaves frees who waited, is told of once, and nothing is written any more", async () => {
  const { output, errors, finishWrite } = setUp();
  const written = output.write("text");
  finishWrite(new Error("gone"));
  await written;
  expect(output.isGone).toBe(true);
  await output.write("more");
  await output.flush();
  expect(errors.map((error) => error.message)).toEqual(["gone"]);
});
