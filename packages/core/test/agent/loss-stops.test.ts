import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type ApproveFn, defineTool, isPayload, type OmniMessage, type Session, userText } from "@coxswain/core";
import { scriptedLanguageModel, type WireExchange } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { outline } from "../engine/support.ts";
import { answer, answerBody, type Block } from "../llm/support/streams.ts";
import { atEnd, collect, newSession, open, type Place, resume, sentMessages } from "./support.ts";
import { eventLoopTurn, until } from "./wire-engine.ts";

const allow: ApproveFn = () => Promise.resolve("allow");
const go = [userText("go")];
const never = new Promise<never>(() => undefined);

function saying(text: string): WireExchange {
  return { body: answerBody("openai-chat", [{ text }]) };
}

function calling(...calls: readonly [id: string, name: string, args?: string][]): WireExchange {
  const blocks = calls.map(([id, name, args = "{}"]): Block => ({ call: { id, name, arguments: args } }));
  return { body: answerBody("openai-chat", blocks, { reason: "calls" }) };
}

/** Stops the run at the first message of which it is so. */
async function runUntil(session: Session, isTime: (message: OmniMessage) => boolean, approve = allow) {
  const controller = new AbortController();
  const stream: OmniMessage[] = [];
  for await (const message of session.run(go, { approve, signal: controller.signal })) {
    stream.push(message);
    if (!controller.signal.aborted && isTime(message)) controller.abort();
  }
  return stream;
}

/** Id and output of each answered call, in the order in which they were sent. */
function sentOutputs(place: Place, request: number): [string | undefined, unknown][] {
  return sentMessages(place, request).flatMap(({ role, tool_call_id: id, content }) =>
    role === "tool" ? [[id, content] as [string | undefined, unknown]] : [],
  );
}

const quick = defineTool({
  name: "quick",
  description: "Is done at once.",
  parameters: { type: "object" },
  permission: "r",
  execute: () => "Q",
});

describe("an interrupt over HTTP", () => {
  it("while one of two commands runs keeps the other's output, in call order, and ends the command", async () => {
    const slow = JSON.stringify({ cmd: "echo $$ > pid; printf 'run%s\\n' ning; sleep 300" });
    const place = await open([
      calling(["call_b", "exec_command", slow], ["call_a", "read_file", '{"file_path":"a.txt"}']),
      saying("All finished."),
      saying("And again."),
    ]);
    const session = await newSession(place);
    let seen = "";
    const stream = await runUntil(session, (message) => {
      if (isPayload(message, "partial_tool_call_output")) seen += message.payload.output;
      if (isPayload(message, "tool_call_output")) seen += message.payload.output;
      return seen.includes("running") && seen.includes("a.txt");
    });
    expect(outline(stream).at(-1)).toBe("abort");
    await collect(session.run([userText("continue")], { approve: allow }));
    const outputs: [string, unknown][] = [
      ["call_b", expect.stringMatching(/^running\n+\[interrupted: tool aborted by user\]$/)],
      ["call_a", expect.stringContaining("a.txt")],
    ];
    expect(sentOutputs(place, 1)).toEqual(outputs);
    await session.dispose();
    const pid = Number(await readFile(join(place.workspace, "pid"), "utf8"));
    expect(() => process.kill(pid, 0)).toThrow(/ESRCH/);
    await collect((await resume(place, session.id)).run([userText("and once more")]));
    expect(sentOutputs(place, 2)).toEqual(outputs);
  });

  it("twice in a row keeps both inputs, and what was done in between, once", async () => {
    const place = await open([calling(["call_1", "quick"]), { end: "hold" }, saying("All finished.")], {
      tools: [quick],
    });
    const session = await newSession(place);
    await runUntil(session, (message) => isPayload(message, "tool_call_output"));
    const controller = new AbortController();
    for await (const message of session.run([userText("second")], { signal: controller.signal })) {
      if (!isPayload(message, "request_begin")) continue;
      await until(() => place.server.requests.length === 2);
      controller.abort();
    }
    expect(outline(await collect(session.run([userText("third")], { signal: AbortSignal.abort() })))).toEqual([
      "abort",
    ]);
    await collect(session.run([]));
    expect(sentMessages(place, 2).map(({ content }) => content)).toEqual(["go", null, "Q", "second", "third"]);
    expect(sentOutputs(place, 2)).toEqual([["call_1", "Q"]]);
  });

  it.each([false, true])(
    "of an answer that was streaming quotes it once, also when the process is another one: %s",
    async (isOther) => {
      const half: WireExchange = { body: answer("openai-chat", [{ text: "I was say" }]).join(""), end: "hold" };
      const place = await open([half, saying("All finished."), saying("More.")]);
      let session = await newSession(place);
      await runUntil(session, (message) => isPayload(message, "partial_text") && message.payload.text !== "");
      if (isOther) {
        await session.dispose();
        session = await resume(place, session.id);
      }
      await collect(session.run([userText("continue")]));
      await collect(session.run([userText("more")]));
      const [block, next, said, more] = sentMessages(place, 2).map(({ content }) => String(content));
      expect(block).toMatch(/^\[turn_aborted\][\s\S]*go[\s\S]*I was say[\s\S]*\[\/turn_aborted\]$/);
      expect([next, said, more]).toEqual(["continue", "All finished.", "more"]);
    },
  );

  it("of a model client that ignores its signal, before and in its answer, returns, and the next message works", async () => {
    const model = scriptedLanguageModel([
      { deaf: true },
      {
        parts: [
          { type: "text-start", id: "0" },
          { type: "text-delta", id: "0", delta: "I was" },
        ],
        end: "deaf",
      },
      { deaf: true },
    ]);
    const place = await open([], { model });
    const session = await newSession(place);
    for (const text of ["first", "second"]) {
      const controller = new AbortController();
      const run = collect(session.run([userText(text)], { signal: controller.signal }));
      const requests = text === "first" ? 1 : 2;
      await until(() => model.calls.length === requests);
      for (let turn = 0; turn < 5; turn += 1) await eventLoopTurn();
      controller.abort();
      expect(outline(await run).at(-1)).toBe("abort");
      expect(session.state).toBe("idle");
    }
    const third = session.run([userText("third")]);
    await third.next();
    void third.next();
    await until(() => model.calls.length === 3);
    await third.return(undefined);
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    for (const text of ["first", "second", "I was", "third"]) expect(prompt).toContain(text);
  });

  it("forgets a question to a person, whose late answer starts nothing, in this run or in the next", async () => {
    let runs = 0;
    const counted = defineTool({
      name: "counted",
      description: "Counts.",
      parameters: { type: "object" },
      permission: "rw",
      execute: () => String((runs += 1)),
    });
    const place = await open(
      [calling(["call_1", "counted"]), calling(["call_2", "counted"]), saying("All finished.")],
      {
        tools: [counted],
      },
    );
    const session = await newSession(place);
    let answerLate: (decision: "allow") => void = () => undefined;
    const ask: ApproveFn = () =>
      new Promise((resolve) => {
        answerLate = resolve;
      });
    await runUntil(session, (message) => isPayload(message, "request_end"), ask);
    const stream: OmniMessage[] = [];
    for await (const message of session.run([userText("again")], { approve: allow })) {
      stream.push(message);
      if (isPayload(message, "request_begin")) answerLate("allow");
    }
    expect(runs).toBe(1);
    expect(stream.filter((message) => isPayload(message, "approval_decision"))).toHaveLength(1);
    expect(sentOutputs(place, 2)).toEqual([
      ["call_1", "[interrupted: tool aborted by user]"],
      ["call_2", "1"],
    ]);
  });

  it("by a reader that leaves at the first message keeps what was asked", async () => {
    const place = await open([saying("All finished.")]);
    const session = await newSession(place);
    for await (const _ of session.run(go)) break;
    expect(session.state).toBe("idle");
    await collect(session.run([userText("again")]));
    expect(sentMessages(place, place.server.requests.length - 1).map(({ content }) => content)).toEqual([
      "go",
      "again",
    ]);
  });

  it("by a reader that leaves while a tool ignores its signal waits for nobody, and the tool's end is not heard", async () => {
    const deaf = defineTool({
      name: "deaf",
      description: "Never ends.",
      parameters: { type: "object" },
      permission: "r",
      execute: () => never,
    });
    const place = await open([calling(["call_1", "deaf"]), saying("All finished.")], { tools: [deaf] });
    const session = await newSession(place);
    for await (const message of session.run(go, { approve: allow })) if (isPayload(message, "approval_decision")) break;
    await collect(session.run([userText("again")]));
    expect(sentOutputs(place, 1)).toEqual([["call_1", "[interrupted: tool aborted by user]"]]);
  });
});

describe("a connection that breaks", () => {
  it.each([
    ["at the good end itself", (body: string) => body],
    ["right behind the finish reason", (body: string) => body.replace("data: [DONE]\n\n", "")],
  ])("%s costs at most one more attempt, and one answer stays", async (_, cut) => {
    const body = cut(answerBody("openai-chat", [{ text: "All finished." }]));
    const place = await open([{ body, end: "destroy" }, saying("All finished."), saying("More.")]);
    const session = await newSession(place);
    const stream = await collectAtOnce(session);
    expect(outline(stream).at(-1)).toBe("request_end completed");
    await collect(session.run([userText("more")]));
    const answers = sentMessages(place, place.server.requests.length - 1).filter(({ role }) => role === "assistant");
    expect(answers.map(({ content }) => content)).toEqual(["All finished."]);
  });

  it("as often as attempts are made fails the Task, and the next one is told once of all that was said", async () => {
    const broken: WireExchange = { body: answer("openai-chat", [{ text: "half a word" }]).join(""), end: "destroy" };
    const place = await open([...Array.from({ length: 6 }, () => broken), saying("All finished.")]);
    const session = await newSession(place);
    const stream = await collectAtOnce(session);
    expect(outline(stream).at(-1)).toMatch(/^abort gave up after 6 attempts/);
    await session.dispose();
    const resumed = await resume(place, session.id);
    await collect(resumed.run([userText("again")]));
    const [block, again] = sentMessages(place, 6).map(({ content }) => String(content));
    expect(block?.match(/\[turn_(aborted|retried)\]/g)).toEqual(["[turn_aborted]"]);
    expect(block?.match(/half a word/g)).toHaveLength(6);
    expect(again).toBe("again");
  });
});

describe("call ids", () => {
  it("of a provider that uses what we would make of a repeated one stay apart, also after a resume", async () => {
    const place = await open(
      [
        calling(["call_0", "quick"], ["call_0", "quick"]),
        calling(["call_0~2", "quick"], ["call_0", "quick"], ["call_0~3", "quick"]),
        saying("All finished."),
        saying("More."),
      ],
      { tools: [quick] },
    );
    const session = await newSession(place);
    const stream = await collect(session.run(go, { approve: allow }));
    const ids = stream.flatMap((message) => (isPayload(message, "tool_call") ? [message.payload.tool_call_id] : []));
    expect(new Set(ids).size).toBe(5);
    await session.dispose();
    await collect((await resume(place, session.id)).run([userText("more")]));
    // The provider's own, but for one that it gave twice in one answer.
    const sent = ["call_0", "call_0~2", "call_0~2", "call_0", "call_0~3"];
    for (const request of [2, 3]) {
      const calls = sentMessages(place, request).flatMap(({ tool_calls: made }) => made?.map(({ id }) => id) ?? []);
      expect(calls).toEqual(sent);
      expect(sentOutputs(place, request)).toEqual(sent.map((id) => [id, "Q"]));
    }
  });
});

/** Lets no wait pass by itself. */
async function collectAtOnce(session: Session): Promise<OmniMessage[]> {
  const stream: OmniMessage[] = [];
  let isOver = false;
  atEnd(async () => {
    isOver = true;
  });
  void (async () => {
    while (!isOver) {
      session.skipReconnectWait();
      await eventLoopTurn();
    }
  })();
  for await (const message of session.run(go)) stream.push(message);
  isOver = true;
  return stream;
}
