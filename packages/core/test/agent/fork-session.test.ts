import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  type ApproveFn,
  createAgent,
  FileTraceStore,
  isPayload,
  isSessionMeta,
  type OmniMessage,
  type Session,
  toolCall,
  type TraceStore,
  userText,
} from "@coxswain/core";
import { expectReplays, scriptedLLM } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { recordsOf, type StoredPlace, storedPlace, traceFiles } from "./stored-session.ts";
import { atEnd, collect } from "./support.ts";

const allow: ApproveFn = () => Promise.resolve("allow");
const look = { calls: [{ name: "look", arguments: '{"at":"a"}' }] };

async function run(session: Session, text: string): Promise<OmniMessage[]> {
  return collect(session.run([userText(text)], { approve: allow }));
}

/** Three Tasks: the second one has two turns. */
async function written(place: StoredPlace): Promise<Session> {
  const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
  atEnd(() => session.dispose());
  for (const text of ["first", "second", "third"]) await run(session, text);
  return session;
}

async function fork(place: StoredPlace, id: string, options?: { turn?: number; context?: number }): Promise<Session> {
  const session = await (await place.agent()).forkSession(id, options);
  atEnd(() => session.dispose());
  return session;
}

async function textsIn(session: Session): Promise<string[]> {
  const seen = await collect(session.history());
  return seen.flatMap((message) => (isPayload(message, "text") ? [message.payload.text] : []));
}

const threeTasks = [{ text: "one" }, look, { text: "two" }, { text: "three" }];

describe("a forked Session", () => {
  it("begins where the last turn ended, and leaves the old one as it was, byte for byte", async () => {
    const place = await storedPlace([threeTasks, [{ text: "four" }]]);
    const old = await written(place);
    const before = await traceFiles(place.tracesDir);
    const forked = await fork(place, old.id);
    expect(forked.id).not.toBe(old.id);
    expect(forked.meta).toEqual({ ...old.meta, session_id: forked.id });
    expect(await textsIn(forked)).toEqual(["first", "one", "second", "two", "third", "three"]);
    await run(forked, "fourth");
    const after = await traceFiles(place.tracesDir);
    for (const [name, text] of before) expect(after.get(name)).toBe(text);
    expect(after.size).toBe(2);
    await forked.dispose();
    await old.dispose();
    expect((await expectReplays(place.tracesDir)).map(({ requests }) => requests.length)).toEqual([5, 4]);
  });

  it.each([
    [1, ["first", "one"]],
    [2, ["first", "one", "second"]],
    [3, ["first", "one", "second", "two"]],
  ])("from turn %d holds nothing of what came after it", async (turn, texts) => {
    const place = await storedPlace([threeTasks, [{ text: "else" }]]);
    const old = await written(place);
    const forked = await fork(place, old.id, { turn });
    expect(await textsIn(forked)).toEqual(texts);
    await run(forked, "another way");
    const [text = ""] = [...(await traceFiles(place.tracesDir))]
      .filter(([name]) => name.includes(forked.id))
      .map(([, one]) => one);
    const records = recordsOf(text);
    expect(records.filter(isSessionMeta)).toHaveLength(1);
    expect(JSON.stringify(records)).not.toContain("third");
    const calls = records.filter((message) => isPayload(message, "tool_call")).length;
    expect(records.filter((message) => isPayload(message, "tool_call_output"))).toHaveLength(calls);
    const [model] = place.models.slice(-1);
    expect(JSON.stringify(model?.requests[0]?.newMessages)).toContain("another way");
    if (turn === 2) expect(model?.requests[0]?.newMessages[0]?.payload).toMatchObject({ output: "seen a" });
    await forked.dispose();
    await expectReplays(place.tracesDir);
  });

  it("answers for a call whose outcome nobody knows", async () => {
    const place = await storedPlace([[look], [{ text: "else" }]]);
    const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
    atEnd(() => session.dispose());
    const controller = new AbortController();
    await collect(
      session.run([userText("go")], {
        signal: controller.signal,
        approve: () => {
          setImmediate(() => controller.abort());
          return new Promise(() => undefined);
        },
      }),
    );
    const forked = await fork(place, session.id);
    await run(forked, "on");
    expect(place.models.at(-1)?.requests[0]?.newMessages.map(({ payload }) => payload)).toMatchObject([
      { type: "tool_call_output", output: expect.stringContaining("its outcome is unknown"), stop_reason: "aborted" },
      { text: "on" },
    ]);
  });

  it("keeps what belongs to its provider, and goes on with the accounts", async () => {
    const fidelity = { test: { signature: "AbC+/=" } };
    const place = await storedPlace([
      [
        async function* () {
          yield toolCall({ name: "look", arguments: "", toolCallId: "c", fidelity });
          return { status: "completed" };
        },
        { text: "two" },
      ],
      [{ text: "three" }],
    ]);
    const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
    atEnd(() => session.dispose());
    await run(session, "go");
    const forked = await fork(place, session.id);
    const stream = await run(forked, "on");
    const calls = (await collect(forked.history())).filter((message) => isPayload(message, "tool_call"));
    expect(calls[0]?.payload.fidelity).toEqual(fidelity);
    const usage = stream.find((message) => isPayload(message, "token_usage"));
    expect(usage?.payload.session.total).toBe(30);
  });

  it("can begin in an earlier model context, or in the newest with everything before it", async () => {
    const big = { total: 105 };
    const place = await storedPlace(
      [[{ text: "one", usage: big }, { text: "short" }], [{ text: "two" }], [{ text: "three" }], [{ text: "again" }]],
      { compaction: { maxContextLength: 100, mode: "summarize", prompt: "Summarize." } },
    );
    const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
    atEnd(() => session.dispose());
    await run(session, "first");
    await run(session, "second");
    const newest = await fork(place, session.id);
    expect(await textsIn(newest)).toEqual(["first", "one", "short", "second", "two"]);
    const earlier = await fork(place, session.id, { context: 1 });
    expect(await textsIn(earlier)).toEqual(["first", "one"]);
    await newest.dispose();
    await earlier.dispose();
    await session.dispose();
    await expectReplays(place.tracesDir);
  });

  it("is what any context says when the one it is taken from has lost its first line, and each of its own says it", async () => {
    const place = await storedPlace(
      [[{ text: "one", usage: { total: 105 } }, { text: "short" }], [{ text: "two" }], [], []],
      { compaction: { maxContextLength: 100, mode: "summarize", prompt: "Summarize." } },
    );
    const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
    for (const text of ["first", "second"]) await run(session, text);
    await session.dispose();
    const names = [...(await traceFiles(place.tracesDir)).keys()];
    for (const [damaged, context] of [
      [1, undefined],
      [0, 1],
    ] as const) {
      const path = join(place.tracesDir, names[damaged] ?? "");
      const whole = await readFile(path, "utf8");
      await writeFile(path, whole.replace("{", "{\0"));
      const forked = await fork(place, session.id, context === undefined ? {} : { context });
      expect(forked.meta).toEqual({ ...session.meta, session_id: forked.id });
      await forked.dispose();
      const files = [...(await traceFiles(place.tracesDir))].filter(([name]) => name.includes(forked.id));
      expect(files).toHaveLength(context ?? 2);
      for (const [, text] of files) expect(recordsOf(text).findIndex(isSessionMeta)).toBe(0);
      await writeFile(path, whole);
    }
  });

  it("that cannot be written says why, whatever its Trace says when it is closed", async () => {
    const place = await storedPlace([threeTasks]);
    const old = await written(place);
    const files = new FileTraceStore({ tracesDir: place.tracesDir });
    const trace: TraceStore = {
      open: () =>
        Promise.resolve({
          write: () => Promise.reject(new Error("no space")),
          rotate: () => Promise.resolve(),
          close: () => Promise.reject(new Error("not whole")),
        }),
      read: (id, options) => files.read(id, options),
      list: () => files.list(),
      contexts: (id) => files.contexts(id),
    };
    const agent = await createAgent({ home: place.home, model: () => scriptedLLM([]), trace });
    await expect(agent.forkSession(old.id)).rejects.toThrow("no space");
  });

  it("is refused in words when there is no such turn, context or Session", async () => {
    const place = await storedPlace([threeTasks]);
    const old = await written(place);
    const agent = await place.agent();
    await expect(agent.forkSession(old.id, { turn: 9 })).rejects.toThrow(
      /no turn 9 in context 1; its completed turns are 1 to 4/,
    );
    await expect(agent.forkSession(old.id, { context: 2 })).rejects.toThrow(/no context 2; there is 1/);
    await expect(agent.forkSession("session-2026-01-01-00-00-00-00000000")).rejects.toThrow(/there is no session/);
    const empty = await agent.createSession({ workspaceDir: place.workspace });
    await empty.dispose();
    await expect(agent.forkSession(empty.id)).rejects.toThrow(/no completed turn to fork from/);
    expect((await traceFiles(place.tracesDir)).size).toBe(2);
  });
});
