import { userText } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { protocols, type WireProtocol } from "../llm/support/streams.ts";
import { opus, sonnet } from "./protocols/anthropic.ts";
import { formFaults } from "./protocols/form.ts";
import { gemini25, gemini3 } from "./protocols/gemini.ts";
import { allow, openFor, played, read, statuses } from "./protocols/models.ts";
import { deepseek } from "./protocols/openai-chat.ts";
import { gpt5 } from "./protocols/openai-responses.ts";
import { cached, conversation, pairs } from "./protocols/reading.ts";
import { play } from "./protocols/task.ts";
import { collect, newSession, type Place, resume } from "./support.ts";

describe("what a provider said goes back to it whole", () => {
  it.each([deepseek, gpt5, sonnet, opus, gemini3, gemini25])("$provider $modelId", async (exchange) => {
    const { place, facts } = await play(exchange);
    const { requests } = place.server;
    expect(requests).toHaveLength(3);
    const [second, third] = exchange.expected(facts);
    expect(requests[1]?.body).toEqual(second);
    expect(requests[2]?.body).toEqual(third);
  });
});

/** Every request begins with the one before it, byte for byte, and goes on. */
function expectPrefixes(protocol: WireProtocol, { server }: Place): void {
  const bodies = server.requests.map(({ body }) => cached(protocol, body));
  for (const [index, body] of bodies.entries()) {
    expect(formFaults(protocol, server.requests[index]?.body)).toEqual([]);
    const before = bodies[index - 1];
    if (before === undefined) continue;
    expect(body.tools).toBe(before.tools);
    expect(body.system).toBe(before.system);
    expect(body.messages.slice(0, before.messages.length)).toEqual(before.messages);
    expect(body.messages.length).toBeGreaterThan(before.messages.length);
  }
}

describe.each(protocols)("a long Session over %s", (protocol) => {
  const turns = Array.from({ length: 6 }, (_, turn) => [
    { thinking: `Turn ${turn}:\n  think. `, signature: `SIG+${turn}==` },
    { text: `Now ${turn}.` },
    read(`call_${turn}a`, "a.txt"),
    read(`call_${turn}b`, "b.txt"),
  ]);
  const done = played(protocol, [{ thinking: "It is done.", signature: "SIG+done==" }, { text: "Done." }]);
  const runOptions = { approve: allow, thinkingLevel: "high" as const };

  it("sends what it sent before as an exact prefix, turn for turn and after a resume", async () => {
    const calling = turns.map((blocks) => played(protocol, blocks));
    const place = await openFor(protocol, [...calling, done, done, ...calling.slice(0, 1), done]);
    const session = await newSession(place);
    const stream = await collect(session.run([userText("go\n"), userText("now")], runOptions));
    stream.push(...(await collect(session.run([userText("more")], runOptions))));
    await session.dispose();
    stream.push(...(await collect((await resume(place, session.id)).run([userText("and more")], runOptions))));
    expect(statuses(stream)).toEqual(Array.from({ length: 10 }, () => "completed"));
    expectPrefixes(protocol, place);
    const last = place.server.requests[9]?.body;
    expect(pairs(protocol, last)).toHaveLength(14);
    expect(conversation(protocol, last).length).toBeGreaterThan(18);
  });
});

describe.each(protocols)("call ids that begin anew with every answer, over %s", (protocol) => {
  it("go back as the provider's own, each with its output, also after a resume", async () => {
    const done = played(protocol, [{ text: "Done." }]);
    const place = await openFor(protocol, [
      played(protocol, [read("call_0", "a.txt")]),
      played(protocol, [read("call_0", "b.txt"), read("call_1", "a.txt")]),
      done,
      done,
    ]);
    const session = await newSession(place);
    await collect(session.run([userText("go")], { approve: allow }));
    await session.dispose();
    await collect((await resume(place, session.id)).run([userText("again")]));
    for (const index of [2, 3]) {
      const body = place.server.requests[index]?.body;
      expect(formFaults(protocol, body)).toEqual([]);
      expect(pairs(protocol, body)).toEqual([
        { id: "call_0", name: "read_file", input: { file_path: "a.txt" }, output: "     1\ta.txt" },
        { id: "call_0", name: "read_file", input: { file_path: "b.txt" }, output: "     1\tb.txt" },
        { id: "call_1", name: "read_file", input: { file_path: "a.txt" }, output: "     1\ta.txt" },
      ]);
    }
    expect(cached(protocol, place.server.requests[3]?.body).messages).toEqual(
      expect.arrayContaining(cached(protocol, place.server.requests[2]?.body).messages),
    );
  });
});

describe.each(protocols)("the request for a summary over %s", (protocol) => {
  const calling = played(protocol, [
    { thinking: "Read.", signature: "SIG+read==" },
    { text: "I read it." },
    read("call_a", "a.txt"),
  ]);
  const summary = played(protocol, [{ text: "[summary]a.txt was read[/summary]" }]);
  const done = played(protocol, [{ text: "Done." }]);

  it("has the tools of the request before it, and begins with it, when a person asks", async () => {
    const place = await openFor(protocol, [calling, done, summary]);
    const session = await newSession(place);
    await collect(session.run([userText("go")], { approve: allow }));
    await collect(session.compact());
    expect(place.server.requests).toHaveLength(3);
    expectPrefixes(protocol, place);
  });

  it("has them, and the outputs that wait, in the middle of a Task", async () => {
    const place = await openFor(protocol, [calling, summary, done], { compaction: { maxContextLength: 10 } });
    const stream = await collect((await newSession(place)).run([userText("go")], { approve: allow }));
    expect(stream.some(({ payload }) => payload.type === "compaction_end" && payload.status === "completed")).toBe(
      true,
    );
    const [first, second, third] = place.server.requests.map(({ body }) => body);
    for (const body of [first, second, third]) expect(formFaults(protocol, body)).toEqual([]);
    expect(cached(protocol, second).tools).toBe(cached(protocol, first).tools);
    expect(pairs(protocol, second)).toMatchObject([{ id: "call_a", output: "     1\ta.txt" }]);
    const before = cached(protocol, first).messages;
    expect(cached(protocol, second).messages.slice(0, before.length)).toEqual(before);
    expect(cached(protocol, third).tools).toBe(cached(protocol, first).tools);
    expect(JSON.stringify(third)).toContain("[context_summary]");
  });
});
