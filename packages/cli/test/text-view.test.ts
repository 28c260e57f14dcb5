import { Writable } from "node:stream";
import { abortEvent, approvalDecision, toolCall, toolCallOutput } from "@coxswain/protocol";
import { expect, test } from "vitest";
import { OutputStream } from "../src/output/output-stream.ts";
import { Screen } from "../src/output/screen.ts";
import { TextView } from "../src/output/text-view.ts";

function setUp() {
  let shown = "";
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      shown += chunk.toString();
      done();
    },
  });
  const { signal } = new AbortController();
  const output = new OutputStream({ stream: sink, signal, onError: () => undefined });
  return { view: new TextView(new Screen({ stdout: output, stderr: output, env: {} })), shown: () => shown };
}

test("an interrupt is told of each call that ran, whether it had said something or not, and of no other", async () => {
  const { view, shown } = setUp();
  for (const id of ["silent", "done", "undecided", "denied"]) {
    await view.show(toolCall({ name: id, arguments: "{}", toolCallId: id }));
  }
  for (const id of ["silent", "done"]) await view.show(approvalDecision("allow", id));
  await view.show(approvalDecision("deny", "denied"));
  await view.show(toolCallOutput({ output: "so far", toolCallId: "done", stopReason: "aborted" }));
  await view.show(toolCallOutput({ output: "denied", toolCallId: "denied", stopReason: "failed" }));
  await view.show(abortEvent());
  expect(shown().match(/^\[aborted\] \w+/gm)).toEqual(["[aborted] done", "[aborted] silent"]);
});

test("what was said to a Task that ended before it could hear it is told, without its control codes", async () => {
  const { view, shown } = setUp();
  await view.show(abortEvent(null, ["look\x1b[2J into\na.txt", "and b.txt"]));
  expect(shown()).toBe("[not delivered] look into a.txt\n[not delivered] and b.txt\n");
});
