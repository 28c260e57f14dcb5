import { startWireServer, type WireExchange } from "@coxswain/testing";
import { expect, test } from "vitest";
import { chatReply, cox, createPlace, ended, said, startCox } from "./support.ts";

const call = { id: "c1", name: "look_up_word", arguments: '{"number":7}' };
const good: WireExchange[] = [
  { body: chatReply({ text: "Hello." }) },
  { body: chatReply({ calls: [call] }) },
  { body: chatReply({ text: "The word is heron." }) },
];
const json = { "content-type": "application/json" };

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

function rows(text: string): unknown[] {
  return text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as unknown);
}

test("a model that answers, calls a tool and takes its output passes, and no Trace is kept", async () => {
  await using fixture = await serve(good);
  const { place, server } = fixture;
  const result = await cox(["models", "test"], { place });
  expect(result.code).toBe(0);
  expect(
    result.stdout.replaceAll(/\d+\.\d\d s/g, "T s"),
  ).toBe(`[ok] answer: first content after T s, ended after T s; tokens: 10 in, 5 out
    Hello.
[ok] tool call: first content after T s, ended after T s; tokens: 10 in, 5 out
    look_up_word {"number":7}
[ok] tool output: first content after T s, ended after T s; tokens: 10 in, 5 out
    The word is heron.
`);
  expect(await place.traceFiles()).toEqual([]);
  const bodies = server.requests.map(({ body }) => body as { stream: boolean; tools?: unknown[]; messages: unknown[] });
  expect(bodies.map(({ stream, tools }) => [stream, tools?.length ?? 0])).toEqual([
    [true, 0],
    [true, 1],
    [true, 1],
  ]);
  expect(bodies[2]?.messages.at(-1)).toMatchObject({
    role: "tool",
    tool_call_id: "c1",
    content: expect.stringMatching(/heron/) as unknown,
  });
});

test("each step is a line of JSON when asked", async () => {
  await using fixture = await serve(good);
  const result = await cox(["models", "test", "local", "m", "--json"], { place: fixture.place });
  expect(result.code).toBe(0);
  expect(rows(result.stdout)).toMatchObject([
    { step: "answer", status: "ok", text: "Hello.", usage: { input: 10, output: 5 } },
    { step: "tool call", status: "ok", calls: [{ name: "look_up_word" }] },
    { step: "tool output", status: "ok", text: "The word is heron." },
  ]);
});

test("a refused key ends it with exit code 3 and the provider's words", async () => {
  const body = JSON.stringify({ error: { message: "Incorrect API key\u001b[31m provided", code: "invalid_api_key" } });
  await using fixture = await serve([{ status: 401, headers: json, body }]);
  const result = await cox(["models", "test"], { place: fixture.place });
  expect(result.code).toBe(3);
  expect(result.stdout).toMatch(/^\[auth\] answer: .*Incorrect API key provided/);
  expect(result.stdout).not.toContain("\u001b");
  expect(result.stderr).not.toMatch(/^\s+at /m);
});

test("a request that is refused ends it with exit code 1 and the provider's words", async () => {
  const body = JSON.stringify({ error: { message: "the model m does not exist" } });
  await using fixture = await serve([{ status: 400, headers: json, body }]);
  const result = await cox(["models", "test", "--json"], { place: fixture.place });
  expect(result.code).toBe(1);
  expect(rows(result.stdout)).toMatchObject([
    { step: "answer", status: "failed", error: expect.stringMatching(/the model m does not exist/) as unknown },
  ]);
  expect(fixture.server.requests).toHaveLength(1);
});

test("a model that calls no tool fails the second step", async () => {
  await using fixture = await serve([{ body: chatReply({ text: "Hello." }) }, { body: chatReply({ text: "heron?" }) }]);
  const result = await cox(["models", "test"], { place: fixture.place });
  expect(result.code).toBe(1);
  expect(result.stdout).toMatch(/\[no_call\] tool call: the model did not call the tool[^]*heron\?/);
  expect(fixture.server.requests).toHaveLength(2);
});

test("an answer without a word fails", async () => {
  await using fixture = await serve([{ body: chatReply({}) }]);
  const result = await cox(["models", "test"], { place: fixture.place });
  expect(result.code).toBe(1);
  expect(result.stdout).toMatch(/^\[(no_text|malformed)\] answer: /);
});

test("a server that says nothing is given up after the time that was given", async () => {
  await using fixture = await serve([{ end: "hold" }]);
  const result = await cox(["models", "test", "--timeout-ms", "50"], { place: fixture.place });
  expect(result.code).toBe(1);
  expect(result.stdout).toMatch(/^\[timeout\] answer: /);
});

test("an interrupt ends it with exit code 130", async () => {
  await using fixture = await serve([{ end: "hold" }]);
  const child = startCox(["models", "test"], { place: fixture.place });
  const end = ended(child);
  await said(child.stderr, "[test]");
  child.kill("SIGINT");
  expect((await end).code).toBe(130);
});

test("the offline model passes, by its scenario", async () => {
  await using place = await createPlace();
  expect((await cox(["models", "test", "offline", "offline"], { place })).code).toBe(0);
});
