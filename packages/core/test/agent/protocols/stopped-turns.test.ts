import { defineTool, isPayload, type OmniMessage, userText } from "@coxswain/core";
import type { WireExchange } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { answer, type Block, protocols, type WireProtocol } from "../../llm/support/streams.ts";
import { collect, newSession, resume } from "../support.ts";
import { formFaults } from "./form.ts";
import { allow, collectAtOnce, openFor, played, read, statuses } from "./models.ts";
import { cached, conversation, type Fields, pairs } from "./reading.ts";

const committed: Block[] = [
  { thinking: "First:\n  read.\n", signature: "SIG+committed/1==" },
  { text: "I read a." },
  read("call_a", "a.txt"),
];
const cut: Block[] = [{ thinking: "Half a thought\n  about b", signature: "SIG+cut/2==" }, read("call_b", "b.txt")];
const after: Block[] = [{ thinking: "Whole again.", signature: "SIG+after/3==" }, read("call_c", "a.txt")];
const last: Block[] = [{ text: "Done." }];

/** Whether this protocol's thinking carries something that its provider alone understands. */
const signs: Record<WireProtocol, boolean> = {
  "openai-chat": false,
  "openai-responses": true,
  anthropic: true,
  gemini: true,
};

function cutOff(protocol: WireProtocol, blocks: readonly Block[]): WireExchange {
  return { body: answer(protocol, blocks).join("") };
}

function outputs(stream: readonly OmniMessage[]): string[] {
  return stream.flatMap((message) => (isPayload(message, "tool_call_output") ? [message.payload.tool_call_id] : []));
}

/** Whether the provider gets its own thinking back, not as words in somebody else's mouth. */
function thinksAgain(protocol: WireProtocol, body: unknown, words: string): boolean {
  return conversation(protocol, body).some((message) => thoughtsOf(message).includes(words));
}

function thoughtsOf({ content, parts, summary, reasoning_content: reasoning }: Fields): unknown[] {
  const inside = [content, parts, summary].flatMap((list) => (Array.isArray(list) ? (list as Fields[]) : []));
  const thoughts = inside.filter(
    ({ type, thought }) => thought === true || type === "thinking" || type === "summary_text",
  );
  return [reasoning, ...thoughts.map(({ thinking, text }) => thinking ?? text)];
}

describe.each(protocols)("an answer over %s that breaks off after its thinking and a call", (protocol) => {
  const holdsCalls = protocol === "openai-chat";

  it("goes into the next attempt as words alone, and what was signed before it goes on", async () => {
    const place = await openFor(protocol, [
      played(protocol, committed),
      cutOff(protocol, cut),
      played(protocol, after),
      played(protocol, last),
      played(protocol, last),
    ]);
    const session = await newSession(place);
    const stream = await collectAtOnce(
      session,
      session.run([userText("go")], { approve: allow, thinkingLevel: "high" }),
    );
    expect(statuses(stream)).toEqual(["completed", "malformed", "completed", "completed"]);
    // A protocol that cannot tell a finished call from a cut one before the end runs none of them.
    expect(outputs(stream)).toEqual(["call_a", ...(holdsCalls ? [] : ["call_b"]), "call_c"]);
    await session.dispose();
    await collect((await resume(place, session.id)).run([userText("again")], { thinkingLevel: "high" }));

    const bodies = place.server.requests.map(({ body }) => body);
    expect(bodies).toHaveLength(5);
    const [, before, again, next, resumed] = bodies;
    for (const body of bodies) expect(formFaults(protocol, body)).toEqual([]);
    const sentBefore = cached(protocol, before).messages;
    const sentAgain = cached(protocol, again).messages;
    const added = JSON.stringify(conversation(protocol, again).at(-1));
    expect(added).toContain("[turn_retried]");
    expect(added).toContain("Half a thought");
    if (!holdsCalls) expect(added).toMatch(/call_b|b\.txt/);
    if (protocol === "anthropic") expect(sentAgain.slice(0, -1)).toEqual(sentBefore.slice(0, -1));
    else expect(sentAgain.slice(0, -1)).toEqual(sentBefore);
    for (const body of [again, next, resumed]) {
      const text = JSON.stringify(body);
      expect(text).not.toContain("SIG+cut/2==");
      expect(thinksAgain(protocol, body, "Half a thought\n  about b")).toBe(false);
      expect(thinksAgain(protocol, body, "First:\n  read.\n")).toBe(true);
      if (signs[protocol]) expect(text.split("SIG+committed/1==")).toHaveLength(2);
      expect(text.split("[turn_retried]")).toHaveLength(2);
    }
    for (const body of [next, resumed]) {
      expect(pairs(protocol, body).map(({ id }) => id)).toEqual(["call_a", "call_c"]);
      expect(thinksAgain(protocol, body, "Whole again.")).toBe(true);
      if (signs[protocol]) expect(JSON.stringify(body)).toContain("SIG+after/3==");
    }
    const sentNext = cached(protocol, next).messages;
    expect(sentNext.slice(0, sentAgain.length)).toEqual(sentAgain);
    expect(cached(protocol, resumed).messages.slice(0, sentNext.length)).toEqual(sentNext);
  });
});

describe.each(protocols)("a turn over %s that is stopped while its tools run", (protocol) => {
  const blocks: Block[] = [
    { thinking: "Both:\n  at once.\n", signature: "SIG+stopped/4==" },
    { text: "I do both." },
    { call: { id: "call_w", name: "wait_for_stop", arguments: '{"why": "it lasts"}' } },
    read("call_a", "a.txt"),
  ];
  const waiting = defineTool({
    name: "wait_for_stop",
    description: "Waits.",
    parameters: { type: "object", properties: { why: { type: "string" } } },
    permission: "r",
    execute: (_args, { signal }) =>
      new Promise((resolve) => {
        signal.addEventListener("abort", () => resolve("stopped"), { once: true });
      }),
  });

  it.each([{ isResumed: false }, { isResumed: true }])(
    "keeps what was signed, and answers each call, resumed: $isResumed",
    async ({ isResumed }) => {
      const done = played(protocol, last);
      const place = await openFor(protocol, [played(protocol, blocks), done, done], { tools: [waiting] });
      const session = await newSession(place);
      const controller = new AbortController();
      const { signal } = controller;
      let isRead = false;
      let isComplete = false;
      for await (const message of session.run([userText("go")], { approve: allow, thinkingLevel: "high", signal })) {
        if (isPayload(message, "tool_call_output")) isRead = true;
        if (isPayload(message, "request_end")) isComplete = true;
        if (isRead && isComplete) controller.abort();
      }
      if (isResumed) await session.dispose();
      const next = isResumed ? await resume(place, session.id) : session;
      await collect(next.run([userText("go on")], { thinkingLevel: "high" }));
      await next.dispose();
      await collect((await resume(place, session.id)).run([userText("and on")], { thinkingLevel: "high" }));
      for (const { body } of place.server.requests.slice(1)) {
        expect(formFaults(protocol, body)).toEqual([]);
        expect(pairs(protocol, body)).toEqual([
          {
            id: "call_w",
            name: "wait_for_stop",
            input: { why: "it lasts" },
            output: "[interrupted: tool aborted by user]",
          },
          { id: "call_a", name: "read_file", input: { file_path: "a.txt" }, output: "     1\ta.txt" },
        ]);
        expect(thinksAgain(protocol, body, "Both:\n  at once.\n")).toBe(true);
        if (signs[protocol]) expect(JSON.stringify(body).split("SIG+stopped/4==")).toHaveLength(2);
      }
      const [, second, third] = place.server.requests.map(({ body }) => cached(protocol, body).messages);
      expect(third?.slice(0, second?.length)).toEqual(second);
    },
  );
});
