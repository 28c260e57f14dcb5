import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type ApproveFn, defineTool, isPayload, type OmniMessage, userText } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { collect, newSession, open, resume, sentMessages, wire } from "./support.ts";

const allow: ApproveFn = () => Promise.resolve("allow");
const go = [userText("go")];

function executed(stream: readonly OmniMessage[]): string[] {
  return stream.flatMap((message) => (isPayload(message, "tool_call_output") ? [message.payload.output] : []));
}

function statuses(stream: readonly OmniMessage[]): string[] {
  return stream.flatMap((message) => (isPayload(message, "request_end") ? [message.payload.status] : []));
}

describe("a Session over HTTP", () => {
  it.each(["parallel-calls-without-index", "parallel-calls-with-equal-index", "interleaved-fragments"])(
    "runs each call of %s once and sends the outputs in call order",
    async (name) => {
      const place = await open([name, "good-answer"]);
      const stream = await collect((await newSession(place)).run(go, { approve: allow }));
      expect(executed(stream)).toHaveLength(2);
      expect(sentMessages(place, 1).slice(-2)).toEqual([
        { role: "tool", tool_call_id: "call_a", content: expect.stringContaining("a.txt") },
        { role: "tool", tool_call_id: "call_b", content: expect.stringContaining("b.txt") },
      ]);
      expect(statuses(stream)).toEqual(["completed", "completed"]);
    },
  );

  it("runs a call with empty arguments, and sends them back as an object", async () => {
    let runs = 0;
    const listItems = defineTool({
      name: "list_items",
      description: "Lists.",
      parameters: { type: "object" },
      permission: "r",
      execute: (args) => {
        runs += 1;
        return `got ${JSON.stringify(args)}`;
      },
    });
    const place = await open(["call-with-empty-arguments-and-stop", "good-answer"], { tools: [listItems] });
    await collect((await newSession(place)).run(go, { approve: allow }));
    expect(runs).toBe(1);
    const [call, output] = sentMessages(place, 1).slice(-2);
    expect(call?.tool_calls?.[0]?.function).toEqual({ name: "list_items", arguments: "{}" });
    expect(output?.content).toContain("got {}");
  });

  it("answers a bad call with what was wrong, in call order, and goes on", async () => {
    const place = await open(["three-bad-calls", "good-answer"]);
    const stream = await collect((await newSession(place)).run(go, { approve: allow }));
    const outputs = sentMessages(place, 1).filter(({ role }) => role === "tool");
    expect(outputs).toHaveLength(3);
    expect(outputs[0]?.content).toMatch(/exec_command.*read_file/s);
    expect(stream.filter((message) => isPayload(message, "tool_call_output")).map(({ payload }) => payload)).toEqual(
      Array.from({ length: 3 }, () => expect.objectContaining({ stop_reason: "failed" })),
    );
    expect(statuses(stream)).toEqual(["completed", "completed"]);
  });

  it("keeps calls of two turns apart that have the same id, also after a resume", async () => {
    const place = await open(["repeated-call-id-first", "repeated-call-id-second", "good-answer", "good-answer"]);
    const session = await newSession(place);
    await collect(session.run(go, { approve: allow }));
    await session.dispose();
    await collect((await resume(place, session.id)).run([userText("again")], { approve: allow }));
    for (const request of [2, 3]) {
      const pairs = sentMessages(place, request).filter(({ role }) => role === "tool");
      expect(pairs.map(({ content }) => content)).toEqual([
        expect.stringContaining("a.txt"),
        expect.stringContaining("b.txt"),
      ]);
      const ids = sentMessages(place, request).flatMap(({ tool_calls: calls }) => calls?.map(({ id }) => id) ?? []);
      expect(pairs.map(({ tool_call_id: id }) => id)).toEqual(ids);
    }
  });

  it.each([
    ["done-without-finish-reason", "malformed"],
    ["error-after-text", "timeout"],
  ])("sends a request again whose answer was %s, and keeps only the good answer", async (name, status) => {
    const place = await open([name, "good-answer"]);
    const session = await newSession(place);
    const stream: OmniMessage[] = [];
    for await (const message of session.run(go, { approve: allow })) {
      stream.push(message);
      if (isPayload(message, "request_end")) setImmediate(() => session.skipReconnectWait());
    }
    expect(statuses(stream)).toEqual([status, "completed"]);
    const [task, retried] = sentMessages(place, 1);
    expect(JSON.stringify(task)).toContain("go");
    expect(JSON.stringify(retried)).toContain("[turn_retried]");
    await session.dispose();
    const context = await collect((await resume(place, session.id)).history());
    const answers = context.filter(({ payload }) => payload.type === "text" && payload.role === "assistant");
    expect(answers.at(-1)?.payload).toMatchObject({ text: "All finished." });
    expect(answers.slice(0, -1).every(({ payload }) => "stop_reason" in payload)).toBe(true);
  });

  it("gives up in the provider's words when every answer is an error, and never with an empty one", async () => {
    const place = await open(Array.from({ length: 6 }, () => "error-as-first-frame"));
    const session = await newSession(place);
    const stream: OmniMessage[] = [];
    for await (const message of session.run(go)) {
      stream.push(message);
      if (isPayload(message, "request_end")) setImmediate(() => session.skipReconnectWait());
    }
    expect(place.server.requests).toHaveLength(6);
    expect(statuses(stream).at(-1)).toBe("failed");
    expect(stream.at(-1)?.payload).toMatchObject({
      type: "abort",
      reason: expect.stringContaining("balance used up for this key"),
    });
  });

  it("ends at once when it is interrupted in a silent answer, and the next message works", async () => {
    const silent = { ...(await wire("head-then-silence")), end: "hold" as const };
    const place = await open([silent, "good-answer"]);
    const session = await newSession(place);
    const controller = new AbortController();
    const stream: OmniMessage[] = [];
    for await (const message of session.run(go, { signal: controller.signal })) {
      stream.push(message);
      if (!isPayload(message, "request_begin")) continue;
      while (place.server.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
      controller.abort();
    }
    expect(stream.at(-1)?.payload.type).toBe("abort");
    const next = await collect(session.run([userText("next")]));
    expect(statuses(next)).toEqual(["completed"]);
    expect(sentMessages(place, 1).map(({ content }) => content)).toEqual(["go", "next"]);
  });

  it("keeps characters whole that were split between reads, from the wire to the file", async () => {
    const place = await open([{ ...(await wire("multi-byte-characters")), splitAt: "every-byte" }, "good-answer"]);
    const session = await newSession(place);
    const stream = await collect(session.run(go));
    const text = "路线：北京→東京 🐧 fin é";
    expect(stream.some(({ payload }) => payload.type === "text" && payload.text === text)).toBe(true);
    expect(JSON.stringify(await collect(session.history()))).not.toContain("\ufffd");
    await collect(session.run([userText("next")]));
    expect(sentMessages(place, 1)[1]?.content).toBe(text);
  });

  it("sends a file on that spells half a character as an escape, and the request stays readable", async () => {
    const place = await open(["parallel-calls-without-index", "good-answer"]);
    await writeFile(join(place.workspace, "a.txt"), '{"half":"\\ud83d"}');
    await collect((await newSession(place)).run(go, { approve: allow }));
    const [output] = sentMessages(place, 1).slice(-2);
    expect(output?.content).toContain('{"half":"\\ud83d"}');
  });

  it("never writes or says its key", async () => {
    const place = await open(["good-answer"]);
    const session = await newSession(place);
    const stream = await collect(session.run([userText("my key is sk-the-secret-key-of-this-test")]));
    expect(JSON.stringify([stream, await collect(session.history())])).not.toContain("sk-the-secret");
    expect(place.server.requests[0]?.headers["authorization"]).toBe("Bearer sk-the-secret-key-of-this-test");
  });
});
