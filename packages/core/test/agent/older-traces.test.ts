import { isPayload, type OmniMessage, readContexts, FileTraceStore, userText } from "@coxswain/core";
import { replay } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { notPlayed } from "../../../testing/test/every-trace.ts";
import { plant, recordsOf, type StoredPlace, storedPlace, traceFiles } from "./stored-session.ts";
import { atEnd, collect } from "./support.ts";

const id = "session-2026-01-05-10-00-00-0000abcd";

async function olderSession(): Promise<StoredPlace> {
  const place = await storedPlace([[{ text: "Welcome." }], [{ text: "Welcome." }]]);
  await plant(place, "older-first-context", id, 1);
  await plant(place, "older-second-context", id, 2);
  return place;
}

function payloads(messages: readonly OmniMessage[] = []): unknown[] {
  return messages.map(({ payload }) => payload);
}

describe("a Trace of an older writer", () => {
  it("is gone on from: its summary, its turns and what was interrupted reach the model", async () => {
    const place = await olderSession();
    const session = await (await place.agent()).resumeSession(id);
    atEnd(() => session.dispose());
    const stream = await collect(session.run([userText("Go on.")]));
    const sent = JSON.stringify(payloads(place.models[0]?.requests[0]?.newMessages));
    expect(sent).toMatch(/\[turn_aborted\].*Thanks\..*You are wel.*\[\/turn_aborted\].*Go on\./);
    const usage = stream.find((message) => isPayload(message, "token_usage"));
    expect(usage?.payload).toMatchObject({ session: { input: 605, output: 10, total: 615 }, request: { total: 15 } });
  });

  it("is shown without prompts that it does not mark as such, and with every record that we do not know", async () => {
    const place = await olderSession();
    const session = await (await place.agent()).resumeSession(id);
    atEnd(() => session.dispose());
    const seen = await collect(session.history());
    expect(seen.flatMap(({ payload }) => (payload.type === "text" ? [payload.text] : []))).toEqual([
      "Remember the word PLUM.",
      "Noted: PLUM.",
      "And look.",
      "<user_steering>and hurry</user_steering>",
      "Seen.",
      "<summary>The word is PLUM.</summary>",
      "What was the word?",
      "PLUM.",
      "Thanks.",
      "You are wel",
    ]);
    expect(payloads(seen)).toEqual(expect.arrayContaining([{ type: "weather", sky: "blue" }]));
    expect(payloads(seen)).toEqual(expect.arrayContaining([{ type: "audio", role: "assistant", data: "AAAA" }]));
  });

  it("is forked with its unknown fields and records, in whatever context", async () => {
    const place = await olderSession();
    const forked = await (await place.agent()).forkSession(id, { context: 1 });
    atEnd(() => forked.dispose());
    notPlayed(forked.id, "an older engine wrote its beginning, without a list of tools");
    expect(forked.meta).toMatchObject({ thinking_level: "high", tools: [{ name: "look" }] });
    const files = [...(await traceFiles(place.tracesDir))].filter(([name]) => name.includes(forked.id));
    expect(files).toHaveLength(1);
    const copied = recordsOf(files[0]?.[1] ?? "");
    expect(payloads(copied)).toEqual(
      expect.arrayContaining([expect.objectContaining({ tool_call_id: "call_1", rating: 5 })]),
    );
    const stream = await collect(forked.run([userText("Go on.")]));
    expect(stream.at(-1)?.payload).toMatchObject({ type: "request_end", status: "completed" });
  });

  it("is exported as it is", async () => {
    const place = await olderSession();
    const { messages } = await (await place.agent()).exportSession(id);
    expect(messages).toHaveLength(39);
    expect(payloads(messages)).toEqual(expect.arrayContaining([{ type: "weather", sky: "blue" }]));
  });

  it("is not played again, and said why", async () => {
    const place = await olderSession();
    const contexts = [];
    for await (const context of readContexts(new FileTraceStore({ tracesDir: place.tracesDir }), id))
      contexts.push(context);
    const report = await replay(contexts);
    expect(report.outcome).toBe("unplayable");
    expect(report.obstacle).toMatch(/^record 3 of context 1 \(request_begin\) comes before any list of tools/);
    expect(report.setAside).toEqual([
      '1 × a record of the unknown kind "weather"',
      '1 × a record of the unknown kind "audio"',
    ]);
  });

  it("may hold our words where nobody of us put them", async () => {
    const place = await storedPlace([[{ text: "ok" }]]);
    await plant(place, "steering-like-inputs", id);
    const session = await (await place.agent()).resumeSession(id);
    atEnd(() => session.dispose());
    const seen = await collect(session.history());
    expect(seen.flatMap(({ payload }) => (payload.type === "text" ? [payload.text] : []))).toEqual([
      "[user_steering]typed by hand",
      "[turn_aborted] is a tag.",
    ]);
    await collect(session.run([userText("go")]));
    expect(payloads(place.models[0]?.requests[0]?.newMessages)).toMatchObject([{ text: "go" }]);
  });
});
