import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { join } from "node:path";
import type { OmniMessage, SessionMetaPayload } from "@coxswain/protocol";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { SessionSummary } from "../../src/engine/ports.ts";
import { FileTraceStore } from "../../src/trace/file-trace-store.ts";
import { isTrustedOwner } from "../../src/shared/private-directory.ts";
import { newSessionId } from "../../src/trace/session-id.ts";
import { TraceError } from "../../src/trace/trace-error.ts";
import { build, counts, lines, meta, plantTrace, sessionId, startMs, temporaryDirectory, textsOf } from "./support.ts";

const clock = { now: () => startMs };

function newStore(): { tracesDir: string; store: FileTraceStore } {
  const tracesDir = join(temporaryDirectory(), "agents", "a", "traces");
  return { tracesDir, store: new FileTraceStore({ tracesDir, clock }) };
}

async function write(store: FileTraceStore, id: string, ...messages: (OmniMessage | "rotate")[]): Promise<void> {
  const sink = await store.open(id);
  for (const message of messages) await (message === "rotate" ? sink.rotate() : sink.write(message));
  await sink.close();
}

async function listed(store: FileTraceStore): Promise<SessionSummary[]> {
  const summaries: SessionSummary[] = [];
  for await (const summary of store.list()) summaries.push(summary);
  return summaries;
}

const mode = (path: string): number => fs.statSync(path).mode & 0o777;

describe("session ids", () => {
  test("say when they were made, in UTC, and differ", () => {
    const id = newSessionId(startMs);
    expect(id).toMatch(/^session-2026-01-31-12-00-00-[0-9a-f]{8}$/);
    expect(newSessionId(startMs)).not.toBe(id);
  });

  test.each(["", "..", "../x", "a/b", "a\\b", "a.b", "a\0b", "a\n", "é", "x".repeat(101)])(
    "%j never becomes a part of a path",
    async (id) => {
      const { tracesDir, store } = newStore();
      await expect(store.open(id)).rejects.toThrow(/is no session id/);
      await expect(store.read(id)).rejects.toThrow(/is no session id/);
      await expect(store.path(id)).rejects.toThrow(/is no session id/);
      await expect(store.contexts(id)).rejects.toThrow(/is no session id/);
      expect(fs.existsSync(tracesDir)).toBe(false);
    },
  );

  test("of other programs work when they are safe", async () => {
    const { tracesDir, store } = newStore();
    await write(store, "run_001", meta, build.userText("hello"));
    expect(await store.path("run_001")).toBe(join(tracesDir, "2026-01-31", "run_001_001.jsonl"));
    expect(textsOf((await store.read("run_001")).messages)).toEqual(["hello"]);
    expect(await store.contexts("run")).toEqual([]);
  });
});

describe("records handed over together", () => {
  test.each([10, 50_000, 400_000])("stand one after the other; one of them has %i characters", async (length) => {
    const { store } = newStore();
    const texts = ["é漢🐧".repeat(length / 5), "x".repeat(length), "short"];
    const records = [meta, ...texts.map((text) => build.userText(text))];
    const sink = await store.open(sessionId);
    await sink.writeAll?.(records);
    await sink.write(build.userText("last"));
    await sink.close();
    const { messages } = await store.read(sessionId);
    expect(messages.slice(0, -1)).toEqual(records);
    expect(textsOf(messages)).toEqual([...texts, "last"]);
  });
});

describe("files", () => {
  test("are one a context, in the folder of the Session's day, private to the user", async () => {
    const { tracesDir, store } = newStore();
    await write(store, sessionId, meta, "rotate", meta, build.userText("second"));
    const folder = join(tracesDir, "2026-01-31");
    expect(fs.readdirSync(folder).sort()).toEqual([`${sessionId}_001.jsonl`, `${sessionId}_002.jsonl`]);
    expect([mode(tracesDir), mode(folder), mode(await store.path(sessionId, 1))]).toEqual([0o700, 0o700, 0o600]);
    expect(await store.contexts(sessionId)).toEqual([1, 2]);
    expect(await store.path(sessionId)).toBe(join(folder, `${sessionId}_002.jsonl`));
    expect(fs.readFileSync(await store.path(sessionId, 1), "utf8")).toBe(lines(meta));
  });

  test("of the next context open with its first record, however often it is announced", async () => {
    const { store } = newStore();
    await write(store, sessionId, "rotate", meta, "rotate", "rotate");
    expect(await store.contexts(sessionId)).toEqual([1]);
    await write(store, sessionId, "rotate", "rotate", meta);
    expect(await store.contexts(sessionId)).toEqual([1, 2]);
  });

  test("of a Session go on with the newest one, also when the first ones were removed", async () => {
    const { store } = newStore();
    const old = "session-2025-11-02-08-00-00-0a1b2c3d";
    await write(store, old, meta, "rotate", meta, "rotate", build.userText("third"));
    fs.rmSync(await store.path(old, 1));
    fs.rmSync(await store.path(old, 2));
    await write(store, old, build.userText("again"), "rotate", build.userText("fourth"));
    expect(await store.contexts(old)).toEqual([3, 4]);
    expect(textsOf((await store.read(old, { context: 3 })).messages)).toEqual(["third", "again"]);
  });

  test("that another program put in the place of the next context are left alone", async () => {
    const { tracesDir, store } = newStore();
    const sink = await store.open(sessionId);
    await sink.write(meta);
    const foreign = plantTrace(tracesDir, "foreign", sessionId, 2);
    await sink.rotate();
    await sink.write(build.userText("mine"));
    await sink.close();
    expect(fs.readFileSync(foreign, "utf8")).toBe("foreign");
    expect(textsOf((await store.read(sessionId, { context: 3 })).messages)).toEqual(["mine"]);
  });

  test("of later contexts are found in the folder of another day", async () => {
    const { tracesDir, store } = newStore();
    plantTrace(tracesDir, lines(meta, build.userText("first")));
    const later = join(tracesDir, "2026-02-03");
    fs.mkdirSync(later);
    fs.writeFileSync(join(later, `${sessionId}_002.jsonl`), lines(meta, build.userText("second")));
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(["second"]);
    await write(store, sessionId, build.userText("more"));
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(["second", "more"]);
  });
});

describe("reading", () => {
  test("gives what was written, each kind of record as it was", async () => {
    const { store } = newStore();
    const records = [
      meta,
      build.userText("q"),
      build.toolCall({ name: "t", arguments: "{", toolCallId: "c", fidelity: { signature: "é" } }),
      build.toolCallOutput({ output: "漢字", toolCallId: "c", images: ["data:image/png;base64,AA"] }),
      build.abortEvent(null, ["steer"]),
    ];
    await write(store, sessionId, ...records);
    expect(await store.read(sessionId)).toEqual({ messages: records, tornTail: false, skippedLines: [] });
  });

  test("takes for the newest context the last one in which something was said", async () => {
    const { store } = newStore();
    await write(store, sessionId, meta, build.userText("said"), "rotate", meta, build.notice("info", "n", "n"));
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(["said"]);
    expect((await store.read(sessionId, { context: 2 })).messages).toHaveLength(2);
    expect((await store.read(sessionId, { context: 1 })).messages).toHaveLength(2);
  });

  test.each([
    ["holds its first line alone", lines(meta)],
    ["is empty", ""],
    ["holds what is no text", new Uint8Array([0, 255, 254, 10, 0, 0])],
  ])("and writing are of one file, also when a later one %s", async (_, later) => {
    const { tracesDir, store } = newStore();
    plantTrace(tracesDir, lines(meta, build.userText("said")));
    const path = plantTrace(tracesDir, later, sessionId, 2);
    for (const text of ["more", "and more"]) await write(store, sessionId, build.userText(text));
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(["said", "more", "and more"]);
    expect(fs.readFileSync(path)).toEqual(Buffer.from(later));
    await write(store, sessionId, "rotate", meta, build.userText("next"));
    expect(await store.contexts(sessionId)).toEqual([1, 2, 3]);
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(["next"]);
  });

  test("and writing are of one file, also when the first one of a young Session is gone", async () => {
    const { tracesDir, store } = newStore();
    plantTrace(tracesDir, lines(meta, build.userText("said")), sessionId, 2);
    await write(store, sessionId, build.userText("more"));
    expect(await store.contexts(sessionId)).toEqual([2]);
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(["said", "more"]);
  });

  test("of a Session in which nothing was said gives its first records", async () => {
    const { store } = newStore();
    await write(store, sessionId, meta, "rotate", meta);
    expect((await store.read(sessionId)).messages).toEqual([meta]);
  });

  test("tells the newest counts of the contexts before one that has none", async () => {
    const { tracesDir, store } = newStore();
    const usage = (total: number): OmniMessage => build.tokenUsage({ session: counts(total), request: counts(total) });
    const old = { timestamp: meta.timestamp, type: "event_msg", payload: { type: "token_usage" } };
    const withoutInput = { cache_read: 1, cache_write: 2, output: 3, total: 20 };
    const older = { ...old, payload: { ...old.payload, session: withoutInput, request: withoutInput } };
    plantTrace(tracesDir, lines(meta, usage(10)));
    plantTrace(tracesDir, `${JSON.stringify(older)}\n${lines(build.userText("x".repeat(200_000)))}`, sessionId, 2);
    plantTrace(tracesDir, lines(meta), sessionId, 3);
    plantTrace(tracesDir, lines(meta, build.userText("now")), sessionId, 4);
    plantTrace(tracesDir, lines(meta, build.userText("then"), usage(30)), sessionId, 5);
    expect((await store.read(sessionId, { context: 4 })).usageBefore).toEqual({ input: 14, ...withoutInput });
    expect((await store.read(sessionId, { context: 2 })).usageBefore).toBeUndefined();
    expect(await store.read(sessionId)).not.toHaveProperty("usageBefore");
    expect((await store.read(sessionId, { context: 1 })).usageBefore).toBeUndefined();
  });

  test("takes the records of older programs as they are", async () => {
    const { tracesDir, store } = newStore();
    const oldMeta = { ...meta, payload: { ...meta.payload, thinking_level: "high", tools: [{ name: "t" }] } };
    const summary = build.userText("<context_summary>\nolder form\n</context_summary>");
    plantTrace(tracesDir, `${JSON.stringify(oldMeta)}\n${lines(summary)}`);
    expect(await store.read(sessionId)).toEqual({ messages: [oldMeta, summary], tornTail: false, skippedLines: [] });
  });

  test("says so when there is no such Session or context", async () => {
    const { tracesDir, store } = newStore();
    await expect(store.read(sessionId)).rejects.toThrow(`there is no session ${sessionId} in ${tracesDir}`);
    await write(store, sessionId, meta, "rotate", meta);
    await expect(store.read(sessionId, { context: 7 })).rejects.toThrow("has no context 7, only 1, 2");
  });
});

describe("what others planted", () => {
  test("a link in the place of a file is neither read nor written", async () => {
    const { tracesDir, store } = newStore();
    const target = join(temporaryDirectory(), "target");
    const secret = lines(build.userText("secret"));
    fs.writeFileSync(target, secret);
    const path = plantTrace(tracesDir, "");
    fs.rmSync(path);
    fs.symlinkSync(target, path);
    await expect(store.read(sessionId)).rejects.toThrow(`${path} is a link; remove it`);
    const sink = await store.open(sessionId);
    await expect(sink.write(meta)).rejects.toThrow("is a link");
    await expect(sink.close()).rejects.toThrow("1 records of the trace are lost");
    expect(fs.readFileSync(target, "utf8")).toBe(secret);
  });

  test("a link in the place of a day's folder is not followed", async () => {
    const { tracesDir, store } = newStore();
    fs.mkdirSync(tracesDir, { recursive: true });
    fs.symlinkSync(temporaryDirectory(), join(tracesDir, "2026-01-31"));
    await expect(store.open(sessionId)).rejects.toThrow(/2026-01-31 is in the way: a directory must be there/);
  });

  test("a link of our own in the place of all traces is", async () => {
    const elsewhere = temporaryDirectory();
    const tracesDir = join(temporaryDirectory(), "traces");
    fs.symlinkSync(elsewhere, tracesDir);
    await write(new FileTraceStore({ tracesDir }), sessionId, meta);
    expect(fs.readdirSync(join(elsewhere, "2026-01-31"))).toEqual([`${sessionId}_001.jsonl`]);
  });

  test("a pipe in the place of a file does not hang", async () => {
    const { tracesDir, store } = newStore();
    const path = plantTrace(tracesDir, "");
    fs.rmSync(path);
    execFileSync("mkfifo", [path]);
    await expect(store.read(sessionId)).rejects.toThrow("is not a regular file");
    const sink = await store.open(sessionId);
    await expect(sink.write(meta)).rejects.toThrow("is not a regular file");
    await expect(sink.close()).rejects.toThrow(TraceError);
  });

  test("a file in the place of a directory is told in one line", async () => {
    const place = join(temporaryDirectory(), "traces");
    fs.writeFileSync(place, "");
    await expect(new FileTraceStore({ tracesDir: place }).open(sessionId)).rejects.toThrow(
      `${place} is in the way: a directory must be there; move it away`,
    );
    const below = join(place, "deeper");
    await expect(new FileTraceStore({ tracesDir: below }).open(sessionId)).rejects.toThrow(
      /^cannot make the directory/,
    );
  });

  test("what belongs to another user is not used, except by root", () => {
    expect([isTrustedOwner(5, 5), isTrustedOwner(6, 5), isTrustedOwner(0, 5), isTrustedOwner(6, 0)]).toEqual([
      true,
      false,
      false,
      true,
    ]);
  });
});

describe("the list", () => {
  const newer = "session-2026-02-01-12-00-00-0a1b2c3d";
  const metaOf = (id: string, prompt = "Be brief."): OmniMessage =>
    build.sessionMeta({ ...(meta.payload as SessionMetaPayload), session_id: id, system_prompt: prompt });

  test("begins with the Session that was active last, and tells it from head and tail", async () => {
    const { tracesDir, store } = newStore();
    const first = metaOf(sessionId);
    const said = build.userText("  Tidy\n the   desk ");
    const last = build.requestEnd("completed");
    plantTrace(tracesDir, lines(metaOf(newer)), newer);
    plantTrace(tracesDir, lines(first, build.userText("[x]", { sender: "harness" }), said));
    const newest = plantTrace(tracesDir, `${lines(meta, last)}{"torn`, sessionId, 2);
    fs.utimesSync(newest, new Date(startMs), new Date(Date.now() + 60_000));
    const expected = { provider: "offline", modelId: "demo", workspace: "/workspace" };
    const summaries = await listed(store);
    expect(summaries.map((summary) => summary.sessionId)).toEqual([sessionId, newer]);
    expect(summaries[0]).toEqual({
      ...expected,
      sessionId,
      title: "Tidy the desk",
      startedAt: first.timestamp,
      lastActiveAt: last.timestamp,
    });
    expect(summaries[1]).not.toHaveProperty("title");
  });

  test("holds no file that is none of ours, is unreadable, or is a link", async () => {
    const { tracesDir, store } = newStore();
    expect(await listed(store)).toEqual([]);
    const path = plantTrace(tracesDir, "no trace\n");
    fs.symlinkSync(path, plantTrace(tracesDir, "", newer).replace("_001", "_002"));
    fs.writeFileSync(join(tracesDir, "2026-01-31", "notes.txt"), "");
    fs.writeFileSync(join(tracesDir, "2026-03-01"), "");
    expect(await listed(store)).toEqual([]);
  });

  test("reads heads and tails, never the whole of a large file", async () => {
    const { tracesDir, store } = newStore();
    const path = plantTrace(tracesDir, lines(metaOf(sessionId, "p".repeat(50_000)), build.userText("hello")));
    fs.truncateSync(path, 20 * 1024 ** 3);
    const last = build.requestEnd("completed");
    fs.appendFileSync(path, `\n${lines(last)}`);
    expect(await listed(store)).toMatchObject([{ sessionId, title: "hello", lastActiveAt: last.timestamp }]);
  });

  test("cuts a long title without halving a character", async () => {
    const { tracesDir, store } = newStore();
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom("🥊", "a", "漢"), { minLength: 70, maxLength: 120 }), async (words) => {
        plantTrace(tracesDir, lines(meta, build.userText(words.join(""))));
        const title = (await listed(store))[0]?.title ?? "";
        expect(title.length).toBeLessThanOrEqual(80);
        expect(Buffer.from(title).toString()).toBe(title);
      }),
      { numRuns: 30 },
    );
  });
});
