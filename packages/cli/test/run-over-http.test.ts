import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import { isPayload } from "@coxswain/protocol";
import { startWireServer, type WireExchange } from "@coxswain/testing";
import { expect, test } from "vitest";
import { chatReply, cox, createPlace, readTrace } from "./support.ts";

const writeNote = JSON.stringify({ file_path: "note.txt", content: "written\n" });
const withToolCall: WireExchange[] = [
  { body: chatReply({ text: "I write a note.", calls: [{ id: "call_1", name: "write_file", arguments: writeNote }] }) },
  { body: chatReply({ text: "The note is there." }) },
];

async function serve(exchanges: readonly WireExchange[]) {
  const server = await startWireServer({ exchanges });
  const place = await createPlace();
  await place.configure(`${server.url}/v1`);
  const dispose = async (): Promise<void> => {
    await server.close();
    await place[Symbol.asyncDispose]();
  };
  return { server, place, [Symbol.asyncDispose]: dispose };
}

test("a Task with a tool call in between completes over HTTP, and its effect is real", async () => {
  await using fixture = await serve(withToolCall);
  const { place, server } = fixture;
  const result = await cox(["run", "--approve", "allow", "write a note"], { place });
  expect(result.stdout).toBe("I write a note.\nThe note is there.\n");
  expect(result.code).toBe(0);
  expect(await readFile(join(place.workspace, "note.txt"), "utf8")).toBe("written\n");
  expect(server.requests.map((request) => request.path)).toEqual(["/v1/chat/completions", "/v1/chat/completions"]);
  const [trace] = await place.traceFiles();
  expect(result.stderr).toContain(trace);
});

test("off a terminal nothing is allowed, and a line says what to do", async () => {
  await using fixture = await serve(withToolCall);
  const { place } = fixture;
  const result = await cox(["run", "write a note"], { place });
  expect(result.code).toBe(0);
  expect(result.stderr).toMatch(/no terminal to ask at.*--approve/);
  await expect(readFile(join(place.workspace, "note.txt"))).rejects.toThrow("ENOENT");
});

test("read-only allows what reads and denies the rest", async () => {
  const calls = [
    { id: "call_1", name: "list_files", arguments: "{}" },
    { id: "call_2", name: "write_file", arguments: writeNote },
    { id: "call_3", name: "no_such_tool", arguments: "{}" },
  ];
  await using fixture = await serve([{ body: chatReply({ calls }) }, { body: chatReply({ text: "done" }) }]);
  const { place } = fixture;
  const result = await cox(["run", "--approve", "read-only", "look"], { place });
  expect(result.code).toBe(0);
  const [trace = ""] = await place.traceFiles();
  const decisions = (await readTrace(trace)).filter((message) => isPayload(message, "approval_decision"));
  expect(decisions.map((message) => message.payload.decision)).toEqual(["allow", "deny", "deny"]);
});

test("a refused key ends with exit code 3 and one line that says why", async () => {
  const refusal = JSON.stringify({ error: { message: "Incorrect API key provided", code: "invalid_api_key" } });
  await using fixture = await serve([{ status: 401, headers: { "content-type": "application/json" }, body: refusal }]);
  const { place } = fixture;
  const result = await cox(["run", "hello"], { place });
  expect(result.code).toBe(3);
  expect(result.stdout).toBe("");
  expect(result.stderr).toContain("Incorrect API key provided");
  expect(result.stderr).not.toMatch(/^\s+at /m);
});

test("a fault that is not retried ends with exit code 1", async () => {
  await using fixture = await serve([{ status: 400, body: JSON.stringify({ error: { message: "no such thing" } }) }]);
  const result = await cox(["run", "hello"], { place: fixture.place });
  expect(result.code).toBe(1);
  expect(result.stderr).toContain("no such thing");
});

test("a reset connection is announced and tried again", async () => {
  await using fixture = await serve([{ end: "refuse" }, { body: chatReply({ text: "back" }) }]);
  const result = await cox(["run", "hello"], { place: fixture.place });
  expect(result).toMatchObject({ code: 0, stdout: "back\n" });
  expect(result.stderr).toContain("[reconnect]");
});

test("the cap of turns ends with exit code 1", async () => {
  await using fixture = await serve(withToolCall);
  const result = await cox(["run", "--max-turns", "1", "--approve", "allow", "go"], { place: fixture.place });
  expect(result.code).toBe(1);
  expect(result.stderr).toContain("--max-turns");
});

test("control codes of a model never reach the terminal, also split across fragments", async () => {
  const text = "a\x1b[31mred\x1b]0;title\x07\x9b2Jb\r\nc\x7f";
  await using fixture = await serve([{ body: chatReply({ text }) }]);
  const result = await cox(["run", "hello"], { place: fixture.place });
  expect(result.stdout).toBe("aredb\nc\n");
});

test("a Task with a tool call completes against a mock of another maker", async () => {
  const mock = new LLMock({ port: 0 });
  mock.on({ userMessage: /note/, hasToolResult: false }, { toolCalls: [{ name: "write_file", arguments: writeNote }] });
  mock.on({ userMessage: /note/, hasToolResult: true }, { content: "The note is there." });
  await mock.start();
  await using place = await createPlace();
  try {
    await place.configure(`${mock.url}/v1`);
    const result = await cox(["run", "--approve", "allow", "write a note"], { place });
    expect(result).toMatchObject({ code: 0, stdout: "The note is there.\n" });
    expect(await readFile(join(place.workspace, "note.txt"), "utf8")).toBe("written\n");
  } finally {
    await mock.stop();
  }
});
