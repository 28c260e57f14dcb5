import { chmod, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  createAgent,
  FileTraceStore,
  isModelMessage,
  type NoticePayload,
  type OmniMessage,
  type Session,
  type TraceStore,
  userText,
} from "@coxswain/core";
import { fakeEnvironment, scriptedLLM, type ScriptedLLM, type ScriptedStep } from "@coxswain/testing";
import { describe, expect, it, onTestFinished } from "vitest";
import { notPlayed } from "../../../testing/test/every-trace.ts";
import { recordsOf, storedPlace, traceFiles, type StoredPlace } from "./stored-session.ts";
import { atEnd, collect } from "./support.ts";

const compaction = { mode: "summarize", prompt: "Summarize." } as const;
const go = [userText("go")];

async function newSession(place: StoredPlace): Promise<Session> {
  const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
  atEnd(() => session.dispose());
  return session;
}

async function filesOf(place: StoredPlace): Promise<string[]> {
  return [...(await traceFiles(place.tracesDir)).keys()].map((name) => join(place.tracesDir, name));
}

function noticesOf(session: Session): NoticePayload[] {
  const notices: NoticePayload[] = [];
  session.onNotice((notice) => notices.push(notice));
  return notices;
}

/** Files whose disk takes nothing, as often as it is asked to while `isFull`. */
function fullStore(tracesDir: string): { store: TraceStore; disk: { isFull: boolean } } {
  const files = new FileTraceStore({ tracesDir });
  const disk = { isFull: true };
  const store: TraceStore = {
    open: async (sessionId) => {
      const sink = await files.open(sessionId);
      return {
        write: (message) => (disk.isFull ? Promise.reject(new Error("no space")) : sink.write(message)),
        rotate: () => sink.rotate(),
        close: () => sink.close(),
      };
    },
    read: (sessionId, options) => files.read(sessionId, options),
    list: () => files.list(),
    contexts: (sessionId) => files.contexts(sessionId),
  };
  return { store, disk };
}

describe("a Session whose newest file lost its first line", () => {
  it("is what the file before says, goes on with all that was said and owed, and tells of the line", async () => {
    const script: ScriptedStep[][] = [
      [{ text: "one" }, { text: "[summary]so far[/summary]" }],
      [{ text: "two" }, { end: "failed" }],
      [{ text: "three" }],
      [{ text: "four" }],
    ];
    const opened: { history: OmniMessage[]; llm: ScriptedLLM }[] = [];
    const place = await storedPlace([], {
      compaction,
      model: ({ history }) => {
        const llm = scriptedLLM(script[opened.length] ?? []);
        opened.push({ history, llm });
        return llm;
      },
    });
    const session = await newSession(place);
    await collect(session.run(go));
    await collect(session.compact());
    for (const text of ["more", "not answered"]) await collect(session.run([userText(text)]));
    await session.dispose();
    notPlayed(session.id, "the first line of its second file is damaged");
    const second = (await filesOf(place))[1] ?? "";
    await writeFile(second, (await readFile(second, "utf8")).replace("{", "{\0"));
    const heard: string[][] = [];
    for (const text of ["again", "and again"]) {
      const resumed = await (await place.agent()).resumeSession(session.id);
      expect(noticesOf(resumed).map(({ code }) => code)).toEqual(["trace_damaged"]);
      expect(resumed.meta).toEqual(session.meta);
      await collect(resumed.run([userText(text)]));
      await resumed.dispose();
      const { history = [], llm } = opened.at(-1) ?? {};
      const sent = [...history, ...(llm?.requests[0]?.newMessages ?? [])];
      heard.push(sent.flatMap(({ payload }) => (payload.type === "text" ? [payload.text] : [])));
    }
    const summary = "[context_summary]so far[/context_summary]";
    expect(heard[0]).toEqual([summary, "more", "two", "not answered", "again"]);
    expect(heard[1]).toEqual([...(heard[0] ?? []), "three", "and again"]);
    expect(await filesOf(place)).toHaveLength(2);
  });
});

describe("a disk that takes nothing while a Session is opened", () => {
  it("is told by a notice, and the new Session works", async () => {
    const place = await storedPlace([[{ text: "fine" }]]);
    const { store } = fullStore(place.tracesDir);
    const agent = await createAgent({
      home: place.home,
      systemPrompt: "test",
      trace: store,
      model: () => scriptedLLM([{ text: "fine" }]),
      environment: () => fakeEnvironment({}),
    });
    const session = await agent.createSession({ workspaceDir: place.workspace });
    atEnd(() => session.dispose());
    expect(noticesOf(session)).toMatchObject([
      { level: "error", code: "trace_write_failed", message: expect.stringContaining("(no space); free space") },
    ]);
    expect((await collect(session.run(go))).some(({ payload }) => payload.type === "text")).toBe(true);
  });

  it("is told by a notice, and a Session that died goes on as it would have", async () => {
    const place = await storedPlace([[{ text: "fine" }], [{ text: "later" }]]);
    const session = await newSession(place);
    await collect(session.run(go));
    await session.dispose();
    const [path = ""] = await filesOf(place);
    const lines = (await readFile(path, "utf8")).trimEnd().split("\n");
    const begun = lines.findIndex((line) => line.includes("request_begin"));
    await writeFile(
      path,
      lines.slice(0, begun + 1).map((line) => `${line}\n`),
    );
    const { store, disk } = fullStore(place.tracesDir);
    const llm = scriptedLLM([{ text: "after" }]);
    const options = { home: place.home, systemPrompt: "test", model: () => llm, trace: store };
    const agent = await createAgent({ ...options, environment: () => fakeEnvironment({}) });
    const resumed = await agent.resumeSession(session.id);
    expect(noticesOf(resumed).map(({ code }) => code)).toEqual(["trace_write_failed"]);
    await collect(resumed.run([userText("more")]));
    await resumed.dispose();
    expect(JSON.stringify(llm.requests[0]?.newMessages)).toMatch(/"go".*"more"/);
    disk.isFull = false;
    await (await agent.resumeSession(session.id)).dispose();
    const ends = recordsOf(await readFile(path, "utf8")).slice(begun + 1);
    expect(ends.map(({ payload }) => payload.type)).toEqual(["request_end", "abort"]);
  });
});

describe("a Session that cannot be opened", () => {
  it("holds no lock, and says what went wrong first", async () => {
    const place = await storedPlace([[{ text: "fine" }]]);
    const session = await newSession(place);
    await collect(session.run(go));
    await session.dispose();
    const files = new FileTraceStore({ tracesDir: place.tracesDir });
    let closed = 0;
    const trace: TraceStore = {
      open: async (id) => {
        const sink = await files.open(id);
        const close = async (): Promise<void> => {
          closed += 1;
          await sink.close();
          throw new Error("records are lost");
        };
        return { write: (message) => sink.write(message), rotate: () => sink.rotate(), close };
      },
      read: (id, options) => files.read(id, options),
      list: () => files.list(),
    };
    const agent = await createAgent({
      home: place.home,
      systemPrompt: "test",
      trace,
      model: () => {
        throw new Error("no such model today");
      },
    });
    await expect(agent.resumeSession(session.id)).rejects.toThrow("no such model today");
    await expect(agent.createSession({ workspaceDir: place.workspace })).rejects.toThrow("no such model today");
    expect(closed).toBe(2);
    await (await files.open(session.id)).close();
    for (const path of await filesOf(place)) if (!path.includes(session.id)) await rm(path);
  });
});

describe("what a host does wrong", () => {
  it("a listener that throws stops neither the Task nor the other listeners, and warns", async () => {
    const environment = fakeEnvironment({});
    const place = await storedPlace([[{ text: "one" }, { text: "two" }]], { environment: () => environment });
    const session = await newSession(place);
    const warnings: string[] = [];
    const heard = (warning: Error): void => void warnings.push(warning.message);
    process.on("warning", heard);
    onTestFinished(() => void process.off("warning", heard));
    session.onNotice(() => {
      throw new Error("the listener is broken");
    });
    const notices = noticesOf(session);
    const seen: OmniMessage[] = [];
    for await (const message of session.run(go)) {
      seen.push(message);
      if (message.payload.type === "request_end") environment.report({ text: "done", summary: "it ended" });
    }
    expect(seen.at(-1)?.payload.type).toBe("request_end");
    environment.report({ text: "done", summary: "and another" });
    expect(notices.map(({ message }) => message)).toEqual(["it ended", "and another"]);
    await new Promise((resolve) => setImmediate(resolve));
    expect(warnings).toEqual(["the listener is broken", "the listener is broken"]);
  });

  it("an environment that cannot be disposed of leaves the Trace closed, and is told of", async () => {
    const environment = fakeEnvironment({});
    const place = await storedPlace([[{ text: "one" }]], { environment: () => environment });
    const session = await (await place.agent()).createSession({ workspaceDir: place.workspace });
    environment.dispose = () => Promise.reject(new Error("it does not end"));
    await expect(session.dispose()).rejects.toThrow("it does not end");
    environment.dispose = () => undefined;
    await (await (await place.agent()).resumeSession(session.id)).dispose();
  });
});

describe("a title", () => {
  const never: ScriptedStep = async function* () {
    await new Promise(() => undefined);
    yield* [];
    return { status: "completed" };
  };

  it.each<[string, ScriptedStep]>([
    [
      "throws",
      async function* () {
        yield* [];
        await Promise.reject(new Error("broken"));
        return { status: "completed" };
      },
    ],
    ["fails", { end: "failed" }],
  ])("is none when the model %s", async (_, step) => {
    const place = await storedPlace([[{ text: "one" }], [step]]);
    const session = await newSession(place);
    await collect(session.run(go));
    expect(await session.generateTitle()).toBeNull();
  });

  it("is none when there is no model for it", async () => {
    let opened = 0;
    const llm = scriptedLLM([{ text: "one" }]);
    const model = () => {
      opened += 1;
      if (opened > 1) throw new Error("no key");
      return llm;
    };
    const place = await storedPlace([], { model });
    const session = await newSession(place);
    await collect(session.run(go));
    expect(await session.generateTitle()).toBeNull();
  });

  it("is not waited for once the Session is disposed of, and none is begun", async () => {
    const place = await storedPlace([[{ text: "one" }], [never]]);
    const session = await newSession(place);
    await collect(session.run(go));
    const title = session.generateTitle();
    while ((place.models[1]?.requests.length ?? 0) === 0) await new Promise((resolve) => setImmediate(resolve));
    await session.dispose();
    expect(await title).toBeNull();
    expect(place.models[1]?.requests[0]?.signal?.aborted).toBe(true);
    expect(await session.generateTitle()).toBeNull();
    expect(place.models).toHaveLength(2);
  });
});

describe("the files of a Session that several contexts share", () => {
  it("hold no second copy of what the model was refused, wherever the next one's opening was cut", async () => {
    const place = await storedPlace(
      [
        [
          { text: "one" },
          { end: "failed", outcome: { contextOverflow: true, errorMessage: "too long" } },
          { text: "[summary]so far[/summary]" },
        ],
        [{ text: "two" }],
        ...Array.from({ length: 4 }, () => [{ text: "three" }]),
      ],
      { compaction },
    );
    const session = await newSession(place);
    for (const text of ["first", "the long one"]) await collect(session.run([userText(text)]));
    await session.dispose();
    const second = (await filesOf(place))[1] ?? "";
    const lines = (await readFile(second, "utf8")).trimEnd().split("\n");
    const opening = lines.findIndex((line) => isModelMessage(JSON.parse(line) as OmniMessage));
    expect(opening).toBe(2);
    for (let cut = 1; cut <= opening + 2; cut += 1) {
      for (const path of (await filesOf(place)).slice(1)) await rm(path);
      await writeFile(
        second,
        lines.slice(0, cut).map((line) => `${line}\n`),
      );
      await chmod(second, 0o600);
      const resumed = await (await place.agent()).resumeSession(session.id);
      await collect(resumed.run([userText("next")]));
      const seen = await collect(resumed.history());
      await resumed.dispose();
      const asked = seen.flatMap(({ payload }) =>
        payload.type === "text" && payload.role === "user" ? [payload.text] : [],
      );
      expect(asked, `cut after ${cut} lines`).toEqual(["first", "the long one", "next"]);
    }
  });
});
