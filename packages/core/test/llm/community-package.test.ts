import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { LLMock } from "@copilotkit/aimock";
import {
  type Agent,
  createAgent,
  isPayload,
  type OmniMessage,
  projectPaths,
  type Session,
  userText,
} from "@coxswain/core";
import { startWireServer, type WireExchange, type WireServer } from "@coxswain/testing";
import { createQwen } from "qwen-ai-provider-v5";
import { afterEach, describe, expect, it } from "vitest";
import { playTraces } from "../../../testing/test/every-trace.ts";
import { answer, answerBody, type Block } from "./support/streams.ts";

const cleanUps: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  for (const cleanUp of cleanUps.splice(0).reverse()) await cleanUp();
});

interface Place {
  server: WireServer;
  /** As if another process began: nothing in memory is shared. */
  agent(): Promise<Agent>;
  workspace: string;
}

async function place(baseUrlOf: () => Promise<string>): Promise<Omit<Place, "server">> {
  const root = await mkdtemp(join(tmpdir(), "coxswain-test-"));
  cleanUps.push(() => rm(root, { recursive: true, force: true }));
  cleanUps.push(() => playTraces(projectPaths(join(root, "home"), "default_project", "default_agent").tracesDir));
  const workspace = join(root, "workspace");
  await mkdir(workspace);
  for (const name of ["a.txt", "b.txt"]) await writeFile(join(workspace, name), `inside ${name}`);
  const provider = createQwen({ baseURL: `${await baseUrlOf()}/v1`, apiKey: "test-key-0123456789" });
  const agent = () => createAgent({ home: join(root, "home"), systemPrompt: "test", model: provider("qwen-test") });
  return { workspace, agent };
}

async function serving(exchanges: readonly (WireExchange | string)[]): Promise<Place> {
  const played = exchanges.map((each) => (typeof each === "string" ? { body: each } : each));
  const server = await startWireServer({ exchanges: played });
  cleanUps.push(() => server.close());
  return { server, ...(await place(() => Promise.resolve(server.url))) };
}

async function newSession({ agent, workspace }: Omit<Place, "server">): Promise<Session> {
  const session = await (await agent()).createSession({ workspaceDir: workspace });
  cleanUps.push(() => session.dispose());
  return session;
}

/** Runs a Task without waiting before a retry. */
async function run(session: Session, text = "go"): Promise<OmniMessage[]> {
  const stream: OmniMessage[] = [];
  for await (const message of session.run([userText(text)], { approve: () => Promise.resolve("allow") })) {
    stream.push(message);
    if (isPayload(message, "request_end")) setImmediate(() => session.skipReconnectWait());
  }
  return stream;
}

const endsOf = (stream: readonly OmniMessage[]) =>
  stream.flatMap((message) => (isPayload(message, "request_end") ? [message.payload] : []));
const statuses = (stream: readonly OmniMessage[]) => endsOf(stream).map(({ status }) => status);
const outputs = (stream: readonly OmniMessage[]) =>
  stream.flatMap((message) => (isPayload(message, "tool_call_output") ? [message.payload.output] : []));
const newestCounts = (stream: readonly OmniMessage[]) =>
  stream.flatMap((message) => (isPayload(message, "token_usage") ? [message.payload] : [])).at(-1);

interface SentMessage {
  role: string;
  content: string;
  tool_call_id?: string;
}

function sent(server: WireServer, index: number): SentMessage[] {
  const request = server.requests[index];
  if (request === undefined) throw new Error(`request ${index} did not come`);
  return (request.body as { messages: SentMessage[] }).messages;
}

const read = (id: string, path: string): Block => ({
  call: { id, name: "read_file", arguments: JSON.stringify({ file_path: path }) },
});
const twoCalls: Block[] = [{ thinking: "Both." }, read("call_a", "a.txt"), read("call_b", "b.txt")];
const allDone = answerBody("openai-chat", [{ text: "All done." }]);

describe("a Session over a provider package of others", () => {
  it("runs the calls of an answer and sends their outputs in call order", async () => {
    const at = await serving([answerBody("openai-chat", twoCalls, { reason: "calls" }), allDone]);
    const stream = await run(await newSession(at));
    expect(statuses(stream)).toEqual(["completed", "completed"]);
    // They are shown as they come, which of two files is read sooner is open.
    expect(outputs(stream).toSorted()).toEqual([
      expect.stringContaining("inside a.txt"),
      expect.stringContaining("inside b.txt"),
    ]);
    expect(sent(at.server, 1).slice(-2)).toMatchObject([
      { role: "tool", tool_call_id: "call_a", content: expect.stringContaining("inside a.txt") },
      { role: "tool", tool_call_id: "call_b", content: expect.stringContaining("inside b.txt") },
    ]);
    expect(at.server.requests[0]?.headers["authorization"]).toBe("Bearer test-key-0123456789");
  });

  it("begins no call before the stream's good end", async () => {
    let seenBeforeEnd: unknown[] = [];
    const stream: OmniMessage[] = [];
    const events = answer("openai-chat", twoCalls, { reason: "calls" });
    const lengths = events.map((_, index) => Buffer.byteLength(events.slice(0, index).join("")));
    const held: WireExchange = {
      body: events.join(""),
      splitAt: lengths,
      beforeWrite: async (index) => {
        // The finish reason, the usage and [DONE] are still to come; the calls have been read.
        if (index !== events.length - 3) return;
        while (stream.filter(({ payload }) => payload.type === "partial_tool_call").length < 4) {
          await new Promise((resolve) => setImmediate(resolve));
        }
        seenBeforeEnd = stream.map(({ payload }) => payload.type);
      },
    };
    const at = await serving([held, allDone]);
    const session = await newSession(at);
    for await (const message of session.run([userText("go")], { approve: () => Promise.resolve("allow") })) {
      stream.push(message);
    }
    expect(seenBeforeEnd).toContain("partial_tool_call");
    expect(seenBeforeEnd).not.toContain("tool_call");
    expect(outputs(stream)).toHaveLength(2);
  });

  it("takes an answer for malformed that is cut, asks again, and keeps only the good one", async () => {
    const cut = answer("openai-chat", [{ text: "Half an ans" }]).join("");
    const at = await serving([cut, allDone, allDone]);
    const session = await newSession(at);
    const stream = await run(session);
    expect(statuses(stream)).toEqual(["malformed", "completed"]);
    await run(session, "and now?");
    const answers = sent(at.server, 2).filter(({ role }) => role === "assistant");
    expect(answers.map(({ content }) => content)).toEqual(["All done."]);
  });

  it("runs no call of a cut answer, although the package mends what was cut of it", async () => {
    const cutCall: Block = { cutCall: { id: "call_cut", name: "read_file", arguments: '{"file_path":"a.txt"' } };
    const at = await serving([answer("openai-chat", [cutCall]).join(""), allDone]);
    const stream = await run(await newSession(at));
    expect(statuses(stream)).toEqual(["malformed", "completed"]);
    expect(outputs(stream)).toEqual([]);
  });

  it("takes a connection that breaks for a timeout and asks again", async () => {
    const part = answer("openai-chat", [{ text: "Half an ans" }]).join("");
    const at = await serving([{ body: part, end: "destroy" }, allDone]);
    expect(statuses(await run(await newSession(at)))).toEqual(["timeout", "completed"]);
  });

  it("takes an error that comes inside an answer for what it says", async () => {
    const error = { message: "The model is overloaded", type: "overloaded_error" };
    const broken = `${answer("openai-chat", [{ text: "Ha" }]).join("")}data: ${JSON.stringify({ error })}\n\ndata: [DONE]\n\n`;
    const at = await serving([broken, allDone]);
    const [first, second] = endsOf(await run(await newSession(at)));
    expect(first).toMatchObject({ status: "timeout", error_message: expect.stringContaining("overloaded") });
    expect(second?.status).toBe("completed");
  });

  it("stops at a refused key, once, and does not say it", async () => {
    const refusal = { error: { message: "Incorrect API key provided: test-key-0123456789", code: "invalid_api_key" } };
    const at = await serving([
      { status: 401, headers: { "content-type": "application/json" }, body: JSON.stringify(refusal) },
    ]);
    const stream = await run(await newSession(at));
    expect(statuses(stream)).toEqual(["auth"]);
    expect(at.server.requests).toHaveLength(1);
    expect(JSON.stringify(stream)).toContain("API key");
    expect(JSON.stringify(stream)).not.toContain("test-key-0123456789");
  });

  it("waits after 429 as long as Retry-After says", async () => {
    const at = await serving([
      {
        status: 429,
        headers: { "content-type": "application/json", "retry-after": "9" },
        body: JSON.stringify({ error: { message: "Requests rate limit exceeded", type: "limit_requests" } }),
      },
      allDone,
    ]);
    const [refused, good] = endsOf(await run(await newSession(at)));
    expect(refused).toMatchObject({ status: "timeout", retry_in_ms: 9_000 });
    expect(refused?.error_message).toContain("rate limit exceeded");
    expect(good?.status).toBe("completed");
  });

  it("counts what each answer cost, and goes on after a resume with calls and outputs in place", async () => {
    const usage = { input: 100, output: 10 };
    const at = await serving([
      answerBody("openai-chat", twoCalls, { reason: "calls", usage }),
      answerBody("openai-chat", [{ text: "All done." }], { reason: "stop", usage }),
      answerBody("openai-chat", [{ text: "Still here." }], { reason: "stop", usage }),
    ]);
    const session = await newSession(at);
    const first = newestCounts(await run(session));
    expect(first).toMatchObject({
      request: { input: 100, output: 10 },
      session: { input: 200, output: 20, total: 220 },
    });
    await session.dispose();
    const resumed = await (await at.agent()).resumeSession(session.id);
    cleanUps.push(() => resumed.dispose());
    const again = newestCounts(await run(resumed, "are you there?"));
    expect(again?.session).toMatchObject({ input: 300, output: 30, total: 330 });
    expect(sent(at.server, 2).map(({ role }) => role)).toEqual([
      "system",
      "user",
      "assistant",
      "tool",
      "tool",
      "assistant",
      "user",
    ]);
  });

  it("talks to a server that others wrote, too", async () => {
    const mock = new LLMock({ port: 0 });
    mock.onMessage("hello", { content: "Hello from another server." });
    await mock.start();
    cleanUps.push(() => mock.stop());
    const stream = await run(await newSession(await place(() => Promise.resolve(mock.url))), "hello");
    expect(statuses(stream)).toEqual(["completed"]);
    expect(stream.some(({ payload }) => payload.type === "text" && payload.text === "Hello from another server.")).toBe(
      true,
    );
  });
});

describe("what such a package does not tell:", () => {
  it("tokens from a cache, which count as input", async () => {
    const usage = { input: 100, cached: 75, output: 10 };
    const at = await serving([answerBody("openai-chat", [{ text: "Hi." }], { reason: "stop", usage })]);
    const counts = newestCounts(await run(await newSession(at)));
    expect(counts?.request).toEqual({ input: 100, cache_read: 0, cache_write: 0, output: 10, total: 110 });
  });

  it("that a text was cut which holds a whole call in tags: the package makes it a call and a good end", async () => {
    const tagged = "<tool_call><function=read_file><parameter=file_path>a.txt</tool_call> and then I wi";
    const at = await serving([answer("openai-chat", [{ text: tagged }]).join(""), allDone]);
    const stream = await run(await newSession(at));
    expect(statuses(stream)).toEqual(["completed", "completed"]);
    expect(outputs(stream)).toEqual([expect.stringContaining("inside a.txt")]);
  });

  it("its thinking to the model again", async () => {
    const at = await serving([answerBody("openai-chat", twoCalls, { reason: "calls" }), allDone]);
    await run(await newSession(at));
    expect(JSON.stringify(sent(at.server, 1))).not.toContain("Both.");
  });
});
