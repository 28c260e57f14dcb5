import { chmod, cp, mkdir, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  ConfigError,
  createAgent,
  isPayload,
  type OmniMessage,
  projectPaths,
  replayTrace,
  TraceLockedError,
  userText,
} from "@coxswain/core";
import { MemoryTraceStore, scriptedLLM, scriptedLanguageModel } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { notPlayed } from "../../../testing/test/every-trace.ts";
import { atEnd, collect, newSession, open, resume, sentMessages, temporaryDirectory } from "./support.ts";

const go = [userText("go")];

function traceFile(home: string, id: string): string {
  const { tracesDir } = projectPaths(home, "default_project", "default_agent");
  return join(tracesDir, id.slice("session-".length, "session-".length + 10), `${id}_001.jsonl`);
}

describe("a Session", () => {
  it("writes one line for each record into a private file, session_meta first", async () => {
    const place = await open(["good-answer"]);
    const session = await newSession(place);
    const stream = await collect(session.run(go));
    const path = traceFile(place.home, session.id);
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    const records = lines.map((line) => JSON.parse(line) as OmniMessage);
    expect(records[0]).toMatchObject({ type: "session_meta", payload: { session_id: session.id, provider: "wire" } });
    expect(records.slice(1).filter(({ payload }) => !("role" in payload) || payload.role !== "user")).toEqual(
      stream.filter(({ payload }) => !String(payload.type).startsWith("partial_")),
    );
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  });

  it("cannot be resumed while it is open elsewhere, and can once that is over", async () => {
    const place = await open(["good-answer", "good-answer"]);
    const session = await newSession(place);
    await collect(session.run(go));
    await expect((await place.anotherAgent()).resumeSession(session.id)).rejects.toThrow(TraceLockedError);
    await session.dispose();
    const again = await resume(place, session.id);
    await collect(again.run([userText("more")]));
    expect(sentMessages(place, 1).map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
  });

  it.each(["last-record-cut", "last-record-without-newline", "cut-inside-a-character"])(
    "goes on from a Trace with the %s, twice",
    async (name) => {
      const place = await open(["good-answer", "good-answer"]);
      const id = "session-2026-01-01-00-00-00-0a1b2c3d";
      await putTrace(place.home, id, name, place.workspace);
      const before = await readFile(traceFile(place.home, id));
      const first = await resume(place, id);
      await collect(first.run([userText("one more")]));
      await first.dispose();
      const second = await resume(place, id);
      await collect(second.run([userText("and another")]));
      const told = JSON.stringify(sentMessages(place, 1));
      expect(told).toContain("APRICOT");
      expect(told).toContain("one more");
      const after = await readFile(traceFile(place.home, id));
      expect(after.subarray(0, before.length).equals(before)).toBe(true);
      expect(JSON.stringify(await collect(second.history()))).toMatch(/APRICOT.*one more.*and another/);
    },
  );

  it.each([
    ["call-without-output", ["interrupted: process exited before the tool finished", "bravo"]],
    ["outputs-in-completion-order", ["alpha", "bravo"]],
  ])("pairs the calls of a Trace with %s in call order, and repairs it once", async (name, outputs) => {
    const place = await open(["good-answer"]);
    const id = "session-2026-01-01-00-00-00-0a1b2c3d";
    await putTrace(place.home, id, name, place.workspace);
    for (let time = 0; time < 2; time += 1) await (await resume(place, id)).dispose();
    const size = (await stat(traceFile(place.home, id))).size;
    const session = await resume(place, id);
    expect((await stat(traceFile(place.home, id))).size).toBe(size);
    await collect(session.run([userText("next")]));
    const tools = sentMessages(place, 0).filter(({ role }) => role === "tool");
    expect(tools.map(({ content }) => content)).toEqual(outputs.map((output) => expect.stringContaining(output)));
    expect(new Set(tools.map(({ tool_call_id: callId }) => callId)).size).toBe(tools.length);
  });

  it("resumes to the same state that its file folds to", async () => {
    const place = await open(["parallel-calls-without-index", "good-answer"]);
    const session = await newSession(place);
    await collect(session.run(go, { approve: () => Promise.resolve("allow") }));
    await session.dispose();
    const records = (await readFile(traceFile(place.home, session.id), "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as OmniMessage);
    const state = replayTrace(records);
    expect(state.sessionTurns).toBe(2);
    expect(state.history.map(({ payload }) => payload.type)).toEqual([
      "text",
      "tool_call",
      "tool_call",
      "tool_call_output",
      "tool_call_output",
      "text",
    ]);
  });

  it("gives its history by index, without our own prompts", async () => {
    const place = await open(["good-answer"]);
    const session = await newSession(place);
    await collect(session.run(go));
    const all = await collect(session.history());
    expect(await collect(session.history({ before: 2, limit: 1 }))).toEqual(all.slice(1, 2));
    expect(await collect(session.history({ limit: 2 }))).toEqual(all.slice(-2));
  });

  it("is titled by its model without that entering its history", async () => {
    const place = await open(["good-answer", "good-answer"]);
    const session = await newSession(place);
    expect(await session.generateTitle()).toBeNull();
    await collect(session.run(go));
    const before = await collect(session.history());
    expect(await session.generateTitle()).toBe("All finished.");
    expect(await collect(session.history())).toEqual(before);
    expect(place.server.requests[1]?.body).not.toHaveProperty("tools");
  });

  it("is listed", async () => {
    const place = await open(["good-answer"]);
    const session = await newSession(place);
    await collect(session.run(go));
    const listed = [];
    for await (const summary of place.agent.listSessions()) listed.push(summary);
    expect(listed).toMatchObject([
      { sessionId: session.id, provider: "wire", modelId: "test", workspace: place.workspace },
    ]);
  });

  it("ends what runs when it is disposed of, and does nothing afterwards", async () => {
    const place = await open([{ end: "hold" }]);
    const session = await newSession(place);
    const [running, another] = [session.run(go), session.run(go)];
    const stream = collect(running);
    while (place.server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await session.dispose();
    await session.dispose();
    await stream;
    await expect(another.next()).rejects.toThrow(/disposed/);
    expect((await readFile(traceFile(place.home, session.id), "utf8")).trimEnd().split("\n").at(-1)).toContain(
      '"abort"',
    );
    expect(() => session.run(go)).toThrow(/disposed/);
  });

  it("works with a model, tools and a store given in code, and leaves no file", async () => {
    const home = join(await temporaryDirectory(), "home");
    const store = new MemoryTraceStore();
    const workspaceDir = await temporaryDirectory();
    for (const trace of [store, false] as const) {
      const agent = await createAgent({ home, trace, model: () => scriptedLLM([{ text: "ok" }]) });
      const session = await agent.createSession({ workspaceDir });
      atEnd(() => session.dispose());
      const stream = await collect(session.run(go));
      expect(stream.some((message) => isPayload(message, "text"))).toBe(true);
      expect((await collect(session.history())).length).toBeGreaterThan(0);
    }
    expect(store.traces.size).toBe(1);
    await expect(stat(home)).rejects.toThrow(/ENOENT/);
  });

  it("takes any language model of the provider interface", async () => {
    const usage = {
      inputTokens: { total: 3, noCache: 3, cacheRead: 0, cacheWrite: 0 },
      outputTokens: { total: 2, text: 2, reasoning: 0 },
    };
    const model = scriptedLanguageModel([
      {
        parts: [
          { type: "text-start", id: "0" },
          { type: "text-delta", id: "0", delta: "hello" },
          { type: "text-end", id: "0" },
          { type: "finish", usage, finishReason: { unified: "stop", raw: "stop" } },
        ],
      },
    ]);
    const agent = await createAgent({ home: await temporaryDirectory(), trace: false, model });
    const session = await agent.createSession({ workspaceDir: await temporaryDirectory() });
    const stream = await collect(session.run(go));
    expect(stream.find((message) => isPayload(message, "token_usage"))?.payload).toMatchObject({
      request: { total: 5 },
    });
    expect(session.meta).toMatchObject({ provider: "scripted.model", model_id: "scripted" });
  });
});

describe("a Session that cannot be opened says why in one line", () => {
  it.each<[string, (place: Awaited<ReturnType<typeof open>>) => Promise<unknown>, RegExp]>([
    [
      "the Workspace is a file",
      (place) => place.agent.createSession({ workspaceDir: join(place.workspace, "a.txt") }),
      /a\.txt" is a file; name a directory/,
    ],
    [
      "the Workspace is missing",
      (place) => place.agent.createSession({ workspaceDir: join(place.workspace, "none") }),
      /no such directory/,
    ],
    [
      "the model is unknown",
      (place) => place.agent.createSession({ workspaceDir: place.workspace, provider: "wire", modelId: "other" }),
      /"other"/,
    ],
    [
      "the configuration of the agent is broken",
      async (place) => {
        const { agentStateDir, systemConfigFile } = projectPaths(place.home, "default_project", "default_agent");
        await mkdir(agentStateDir, { recursive: true });
        await writeFile(systemConfigFile, "max_turns: [1\n");
        return place.agent.createSession({ workspaceDir: place.workspace });
      },
      /system_config\.yaml:2/,
    ],
  ])("when %s", async (_, attempt, words) => {
    const error: unknown = await attempt(await open([])).catch((caught: unknown) => caught);
    expect(error).toBeInstanceOf(ConfigError);
    expect((error as Error).message).toMatch(words);
    expect((error as Error).message).not.toContain("\n");
  });
});

async function putTrace(home: string, id: string, name: string, workspace: string): Promise<void> {
  const path = traceFile(home, id);
  await mkdir(join(path, ".."), { recursive: true, mode: 0o700 });
  await cp(new URL(`../trace/files/${name}.jsonl`, import.meta.url), path);
  const bytes = await readFile(path, "latin1");
  const filled = bytes
    .replaceAll("${WORKSPACE}", workspace)
    .replaceAll("${AGENT_STATE}", projectPaths(home, "default_project", "default_agent").agentStateDir)
    .replace(/"provider":"[^"]*","model_id":"[^"]*"/, '"provider":"wire","model_id":"test"');
  await writeFile(path, filled, "latin1");
  const written = /"session_id":"([^"]*)"/.exec(filled)?.[1] ?? id;
  for (const named of [id, written]) notPlayed(named, "another program wrote its beginning, without a list of tools");
  await chmod(path, 0o600);
}
