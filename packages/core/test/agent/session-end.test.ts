import { sessionMeta, userText } from "@coxswain/protocol";
import { FileTraceStore, TraceLockedError, type NoticePayload, type Session as OpenSession } from "@coxswain/core";
import { fakeEnvironment, ManualClock, scriptedLLM, type ScriptedStep } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { ContextEngine } from "../../src/engine/context-engine.ts";
import type { EnvironmentInterface } from "../../src/engine/ports.ts";
import { endedCommandsWords } from "../../src/session/ended-commands.ts";
import { Session } from "../../src/session/session.ts";
import { atEnd, collect, newSession, open, temporaryDirectory } from "./support.ts";

function noticesOf(session: OpenSession): NoticePayload[] {
  const notices: NoticePayload[] = [];
  session.onNotice((notice) => notices.push(notice));
  return notices;
}

function inBackground(...commands: string[]): ScriptedStep[] {
  const calls = commands.map((cmd) => ({
    name: "exec_command",
    arguments: JSON.stringify({ cmd, run_in_background: true }),
  }));
  return [{ calls }, { text: "they run" }];
}

describe("commands in the background that the end of a Session ends", () => {
  it("are told of by name, once, in one line without secrets", async () => {
    const cmd = "exec sleep 60 # with sk-the-secret-key-of-this-test\n# and more";
    const place = await open([], { model: () => scriptedLLM(inBackground(cmd)) });
    const session = await newSession(place);
    const notices = noticesOf(session);
    await collect(session.run([userText("go")], { approve: async () => "allow" }));
    expect(notices).toEqual([]);
    await session.dispose();
    await session.dispose();
    expect(notices).toEqual([
      {
        type: "notice",
        level: "info",
        code: "commands_ended",
        message: expect.stringMatching(/^ended 1 background command: exec sleep 60 # with \S+ # and more$/),
      },
    ]);
    expect(JSON.stringify(notices)).not.toContain("the-secret");
  });

  it("are told to whoever listens only afterwards, and not told when they had ended by themselves", async () => {
    const place = await open([], { model: () => scriptedLLM(inBackground("true", "exec sleep 61")) });
    const session = await newSession(place);
    await collect(session.run([userText("go")], { approve: async () => "allow" }));
    await session.dispose();
    const messages = noticesOf(session).flatMap(({ code, message }) => (code === "commands_ended" ? [message] : []));
    expect(messages).toEqual(["ended 1 background command: exec sleep 61"]);
  });

  it("are counted, the first three named, and those that could not be ended left out", () => {
    const running = ["a", "b", "c", "d", "e", "f"].map((id) => ({ id, line: `run ${id}` }));
    expect(endedCommandsWords(running, running.slice(0, 1))).toBe(
      "ended 5 background commands: run b; run c; run d; and 2 more",
    );
    expect(endedCommandsWords(running, running)).toBeUndefined();
    expect(endedCommandsWords([], [])).toBeUndefined();
  });
});

describe("the end of a Session whose environment", () => {
  async function sessionOver(dispose: () => Promise<void>) {
    const tracesDir = await temporaryDirectory();
    const clock = new ManualClock();
    const store = new FileTraceStore({ tracesDir });
    const id = "session-2026-01-01-00-00-00-0a1b2c3d";
    const trace = await store.open(id);
    const meta = sessionMeta({
      session_id: id,
      provider: "p",
      model_id: "m",
      model_context_window: 0,
      system_prompt: "",
      agent_state: "/",
      workspace: "/",
    });
    const environment: EnvironmentInterface = { ...fakeEnvironment({}), dispose };
    const session = new Session({
      id,
      engine: new ContextEngine({ llm: scriptedLLM([]), environment, trace, clock, sessionMeta: meta }),
      meta,
      environment,
      runningCommands: () => [],
      clock,
      contexts: () => [],
      closeTrace: () => trace.close(),
      openSideContext: () => scriptedLLM([]),
      notices: [],
    });
    atEnd(() => trace.close());
    return { session, clock, isFree: async () => (await store.open(id)).close() };
  }

  it("never ends gives the Trace back after a while, and says so", async () => {
    const { session, clock, isFree } = await sessionOver(() => new Promise(() => undefined));
    const notices = noticesOf(session);
    const disposed = session.dispose();
    expect(await clock.nextSleep()).toBe(10_000);
    clock.advance(9_999);
    await expect(isFree()).rejects.toThrow(TraceLockedError);
    clock.advance(1);
    await disposed;
    await isFree();
    expect(notices).toMatchObject([
      { level: "warning", code: "environment_left", message: expect.stringContaining("has not ended within 10 s") },
    ]);
  });

  it("fails to end, at once or too late, gives the Trace back too; nothing goes on waiting", async () => {
    const broken = new Error("no such daemon");
    const atOnce = await sessionOver(() => Promise.reject(broken));
    await expect(atOnce.session.dispose()).rejects.toBe(broken);
    await atOnce.isFree();
    expect(atOnce.clock.sleeping).toEqual([]);

    let fail: (error: Error) => void = () => undefined;
    const late = await sessionOver(() => new Promise((_, reject) => (fail = reject)));
    const disposed = late.session.dispose();
    await late.clock.nextSleep();
    late.clock.advance(10_000);
    await disposed;
    fail(broken);
    await late.isFree();
  });
});
