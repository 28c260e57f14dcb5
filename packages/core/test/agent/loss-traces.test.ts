import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import {
  createAgent,
  createBuilders,
  FileTraceStore,
  isPayload,
  type OmniMessage,
  projectPaths,
  TraceError,
  TraceLockedError,
  userText,
} from "@coxswain/core";
import { scriptedLLM } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { notPlayed } from "../../../testing/test/every-trace.ts";
import { collect, open, type Place, resume, sentMessages } from "./support.ts";

const id = "session-2026-01-01-00-00-00-0a1b2c3d";
let now = Date.UTC(2026, 0, 1);
const build = createBuilders(() => (now += 1));
const counts = { input: 10, cache_read: 0, cache_write: 0, output: 5, total: 15 };

/** Two turns with a call, and one that a process left open. */
function records(workspace: string): OmniMessage[] {
  return [
    build.sessionMeta({
      session_id: id,
      provider: "wire",
      model_id: "test",
      model_context_window: 0,
      system_prompt: "test",
      agent_state: "/state",
      workspace,
    }),
    build.userText("the first task"),
    build.requestBegin(),
    build.toolCall({ name: "look", arguments: "{}", toolCallId: "call_1" }),
    build.tokenUsage({ session: counts, request: counts }),
    build.requestEnd("completed"),
    build.approvalDecision("allow", "call_1"),
    build.toolCallOutput({ toolCallId: "call_1", output: "seen" }),
    build.requestBegin(),
    build.assistantText("All finished."),
    build.tokenUsage({ session: counts, request: counts }),
    build.requestEnd("completed"),
  ];
}

async function plant(place: Place, content: string | Buffer): Promise<string> {
  notPlayed(id, "the test wrote its beginning, without a list of tools");
  return plantPlayable(place, content);
}

async function plantPlayable(place: Place, content: string | Buffer): Promise<string> {
  const store = new FileTraceStore({ tracesDir: tracesDir(place) });
  const path = await store.path(id);
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  await writeFile(path, content, { mode: 0o600 });
  return path;
}

function tracesDir(place: Place): string {
  return projectPaths(place.home, "default_project", "default_agent").tracesDir;
}

function line(message: unknown): string {
  return `${JSON.stringify(message)}\n`;
}

/** What the next request says of what was said and done before. */
async function told(place: Place): Promise<string> {
  const session = await resume(place, id);
  await collect(session.run([userText("continue")]));
  await session.dispose();
  const messages = sentMessages(place, place.server.requests.length - 1);
  expect(messages.at(-1)?.content).toBe("continue");
  return JSON.stringify(messages.slice(0, -1));
}

const whole = [
  { role: "user", content: "the first task" },
  {
    role: "assistant",
    content: null,
    tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }],
  },
  { role: "tool", tool_call_id: "call_1", content: "seen" },
  { role: "assistant", content: "All finished." },
];

describe("a Trace is taken up whole", () => {
  it.each<[string, (lines: readonly string[]) => string]>([
    ["with line ends of another system", (lines) => lines.join("").replaceAll("\n", "\r\n")],
    ["with a byte order mark", (lines) => `\ufeff${lines.join("")}`],
    ["with blank lines between and behind", (lines) => `${lines.join("\n")}\n\n`],
    ["without its last newline", (lines) => lines.join("").trimEnd()],
    [
      "with records of a kind that nobody knows yet, between any two",
      (lines) =>
        lines.join(
          line({ timestamp: "2026-01-01T00:00:00.000Z", type: "event_msg", payload: { type: "from_later", n: [1] } }),
        ),
    ],
    [
      "with fields that nobody knows yet",
      (lines) => lines.map((text) => text.replace('"payload":{', '"later":1,"payload":{"sooner":{"a":1},')).join(""),
    ],
    ["with damaged lines, between any two", (lines) => lines.join('{"timestamp":"2026-\n')],
    [
      "with messages of children, between any two",
      (lines) => lines.join(line({ ...build.userText("a child's"), origin: ["session-2026-01-01-00-00-00-ffffffff"] })),
    ],
  ])("%s", async (_, write) => {
    const place = await open(["good-answer", "good-answer"]);
    const path = await plant(place, write(records(place.workspace).map(line)));
    const before = await readFile(path);
    expect(JSON.parse(await told(place))).toEqual(whole);
    expect((await readFile(path)).subarray(0, before.length).equals(before)).toBe(true);
    expect(JSON.parse(await told(place))).toEqual([...whole, { role: "user", content: "continue" }, whole.at(-1)]);
  });

  it("with an output of ten million characters", async () => {
    const place = await open(["good-answer"]);
    const all = records(place.workspace).map((message) =>
      isPayload(message, "tool_call_output")
        ? build.toolCallOutput({ toolCallId: "call_1", output: "x".repeat(10_000_000) })
        : message,
    );
    await plant(place, all.map(line).join(""));
    const messages = JSON.parse(await told(place)) as { content: string }[];
    expect(messages[2]?.content).toHaveLength(10_000_000);
    expect(messages).toHaveLength(4);
  });
});

describe("a Trace in which nothing was said", () => {
  it("is a Session that can be gone on with", async () => {
    const place = await open(["good-answer"]);
    await plantPlayable(place, line(records(place.workspace)[0]));
    expect(await told(place)).toBe("[]");
  });

  it("has nothing to go on with without a word", async () => {
    const place = await open([]);
    const path = await plantPlayable(place, line(records(place.workspace)[0]));
    const size = (await readFile(path)).length;
    const session = await resume(place, id);
    await expect(collect(session.run([]))).rejects.toThrow(/nothing to send/);
    expect((await readFile(path)).length).toBe(size);
  });

  it("and whose first line was cut is no Session, which is said, and nothing is changed", async () => {
    const place = await open([]);
    const content = line(records(place.workspace)[0]).slice(0, 40);
    const path = await plant(place, content);
    const agent = await place.anotherAgent();
    for (let time = 0; time < 2; time += 1) await expect(agent.resumeSession(id)).rejects.toThrow(TraceError);
    expect(await readFile(path, "utf8")).toBe(content);
  });

  it("beside one in which something was, is not what is gone on with", async () => {
    const place = await open(["good-answer"]);
    await plant(place, records(place.workspace).map(line).join(""));
    const second = await new FileTraceStore({ tracesDir: tracesDir(place) }).path(id, 2);
    await writeFile(second, line(records(place.workspace)[0]).slice(0, -20), { mode: 0o600 });
    expect(JSON.parse(await told(place))).toEqual(whole);
  });
});

describe("a context whose process died while it opened it", () => {
  const summary = "[context_summary]so far[/context_summary]";
  const refused = build.userText("the refused words");

  /** A Session whose last request was refused for its size, and whose context was then made small. */
  async function plantCompacted(place: Place, opening: (meta: OmniMessage) => string): Promise<string> {
    const all = records(place.workspace);
    const compaction = { reason: "context", mode: "summarize" } as const;
    const compacted = [
      refused,
      build.requestBegin(),
      build.requestEnd("failed", { error_message: "too long" }),
      build.compactionBegin({ ...compaction, context: 15, turns: 2 }),
      build.userText("Sum it up.", { sender: "harness" }),
      build.requestBegin(),
      build.assistantText("[summary]so far[/summary]"),
      build.tokenUsage({ session: counts, request: counts }),
      build.requestEnd("completed"),
      build.compactionEnd({ ...compaction, status: "completed" }),
    ];
    await plant(place, [...all, ...compacted].map(line).join(""));
    const path = await new FileTraceStore({ tracesDir: tracesDir(place) }).path(id, 2);
    const [meta] = all;
    if (meta !== undefined) await writeFile(path, opening(meta), { mode: 0o600 });
    return path;
  }

  const opened = build.userText(summary, { sender: "harness" });
  const tools = build.toolListReady([]);

  it.each<[string, (meta: OmniMessage) => string]>([
    ["in its first line", (meta) => line(meta).slice(0, 50)],
    ["behind the tools", (meta) => line(meta) + line(tools)],
    ["in the summary", (meta) => line(meta) + line(tools) + line(opened).slice(0, 50)],
    ["behind the summary", (meta) => line(meta) + line(tools) + line(opened)],
    ["in what was still owed", (meta) => line(meta) + line(tools) + line(opened) + line(refused).slice(0, 50)],
    ["behind what was still owed", (meta) => line(meta) + line(tools) + line(opened) + line(refused)],
  ])("%s is told the summary and what was still owed, once each, now and later", async (_, opening) => {
    const place = await open(["good-answer", "good-answer"]);
    const path = await plantCompacted(place, opening);
    const before = await readFile(path);
    await (await resume(place, id)).dispose();
    const repaired = await readFile(path);
    expect(repaired.subarray(0, before.length).equals(before)).toBe(true);
    await (await resume(place, id)).dispose();
    expect((await readFile(path)).equals(repaired)).toBe(true);
    const expected = [
      { role: "user", content: summary },
      { role: "user", content: "the refused words" },
    ];
    expect(JSON.parse(await told(place))).toEqual(expected);
    expect((JSON.parse(await told(place)) as unknown[]).slice(0, 2)).toEqual(expected);
  });
});

describe("a Session that several processes want", () => {
  it("is resumed by one of them, and the others hear by whom", async () => {
    const place = await open(["good-answer"]);
    const path = await plant(place, records(place.workspace).slice(0, -1).map(line).join(""));
    const agents = await Promise.all(Array.from({ length: 4 }, () => place.anotherAgent()));
    const results = await Promise.allSettled(agents.map((agent) => agent.resumeSession(id)));
    const opened = results.flatMap((result) => (result.status === "fulfilled" ? [result.value] : []));
    expect(opened).toHaveLength(1);
    for (const result of results)
      if (result.status === "rejected") expect(result.reason).toBeInstanceOf(TraceLockedError);
    await opened[0]?.dispose();
    const ends = (await readFile(path, "utf8")).split('"type":"request_end"').length - 1;
    expect(ends).toBe(2);
    expect(JSON.parse(await told(place))).toEqual(whole);
  });
});

describe("a resume whose records cannot be written", () => {
  it("fails without holding the Session, and the next one repairs it once", async () => {
    const place = await open(["good-answer"]);
    const open_ = records(place.workspace).slice(0, -2);
    const path = await plant(place, open_.map(line).join(""));
    const broken = new FileTraceStore({ tracesDir: tracesDir(place) });
    const agent = await createAgent({
      home: place.home,
      systemPrompt: "test",
      model: () => scriptedLLM([]),
      trace: {
        open: async (sessionId) => {
          const sink = await broken.open(sessionId);
          return {
            write: () => Promise.reject(new Error("no space")),
            rotate: () => sink.rotate(),
            close: () => sink.close(),
          };
        },
        read: (sessionId, options) => broken.read(sessionId, options),
        list: () => broken.list(),
      },
    });
    const before = await readFile(path, "utf8");
    await agent.resumeSession(id).then(
      (session) => session.dispose(),
      (error: unknown) => expect(String(error)).toContain("no space"),
    );
    expect(await readFile(path, "utf8")).toBe(before);
    await told(place);
    expect((await readFile(path, "utf8")).split('"process exited"')).toHaveLength(2);
  });

  it("and was cut at any of its bytes says the same to the model as one that was not", async () => {
    const place = await open(Array.from({ length: 40 }, () => "good-answer"));
    const all = records(place.workspace).slice(0, -2).map(line).join("");
    const path = await plant(place, all);
    await (await resume(place, id)).dispose();
    const repaired = await readFile(path);
    const expected = await told(place);
    const added = repaired.length - Buffer.byteLength(all);
    for (let cut = 0; cut < added; cut += 17) {
      await writeFile(path, repaired.subarray(0, repaired.length - cut), { mode: 0o600 });
      const [before, state] = [await readFile(path), await told(place)];
      expect(state).toBe(expected);
      expect((await readFile(path)).subarray(0, before.length).equals(before)).toBe(true);
    }
  });
});
