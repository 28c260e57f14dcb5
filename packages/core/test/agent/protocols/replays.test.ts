import { isPayload, type OmniMessage, type Session, userText } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import type { WireProtocol } from "../../llm/support/streams.ts";
import { collect, newSession, type Place, resume } from "../support.ts";
import { formFaults } from "./form.ts";
import { allow, collectAtOnce, openFor, statuses } from "./models.ts";
import { conversation, list, pairs } from "./reading.ts";

interface Outcome {
  place: Place;
  session: Session;
  stream: OmniMessage[];
  /** What a resumed Session shows. */
  history: OmniMessage[];
}

const go = [userText("go")];

/** The Task, and one more message after a resume. */
async function replay(protocol: WireProtocol, answers: readonly string[]): Promise<Outcome> {
  const place = await openFor(protocol, [...answers, "good-answer"]);
  const session = await newSession(place);
  const stream = await collectAtOnce(session, session.run(go, { approve: allow, thinkingLevel: "high" }));
  await session.dispose();
  const resumed = await resume(place, session.id);
  const history = await collect(resumed.history());
  await collectAtOnce(resumed, resumed.run([userText("again")], { thinkingLevel: "high" }));
  for (const { body } of place.server.requests) expect(formFaults(protocol, body)).toEqual([]);
  return { place, session: resumed, stream, history };
}

function ends(stream: readonly OmniMessage[]) {
  return stream.flatMap((message) => (isPayload(message, "request_end") ? [message.payload] : []));
}

function said(stream: readonly OmniMessage[]) {
  return stream.flatMap(({ payload }) => (payload.type === "text" && payload.role === "assistant" ? [payload] : []));
}

function bodyAt(place: Place, index: number): unknown {
  const request = place.server.requests[index];
  if (request === undefined) throw new Error(`request ${index} did not come`);
  return request.body;
}

describe("recorded answers, played to a Session", () => {
  it("a call whose arguments come at its end alone runs once, and its fragments are the arguments", async () => {
    const { place, stream } = await replay("openai-responses", ["arguments-only-in-done", "good-answer"]);
    expect(statuses(stream)).toEqual(["completed", "completed"]);
    const fragments = stream.flatMap((message) =>
      isPayload(message, "partial_tool_call") ? [message.payload.arguments] : [],
    );
    expect(fragments.join("")).toBe('{"file_path":"a.txt"}');
    expect(stream.filter((message) => isPayload(message, "tool_call"))).toHaveLength(1);
    expect(stream.filter((message) => isPayload(message, "tool_call_output"))).toHaveLength(1);
    expect(said(stream).map(({ text }) => text)).toEqual(["All finished."]);
    expect(place.server.requests).toHaveLength(3);
    for (const index of [1, 2]) {
      expect(pairs("openai-responses", bodyAt(place, index))).toEqual([
        { id: "call_a", name: "read_file", input: { file_path: "a.txt" }, output: "     1\ta.txt" },
      ]);
    }
  });

  it("an answer that the limit ends is complete at once, with the reason in both words, and counted", async () => {
    const { place, stream } = await replay("openai-responses", ["incomplete-answer"]);
    expect(ends(stream)).toEqual([
      {
        type: "request_end",
        status: "completed",
        finish_reason: "length",
        finish_reason_raw: "max_output_tokens",
      },
    ]);
    expect(said(stream)).toMatchObject([{ text: "The report covers three" }]);
    const counts = { input: 20, cache_read: 0, cache_write: 0, output: 5, total: 25 };
    expect(stream.filter((message) => isPayload(message, "token_usage")).map(({ payload }) => payload)).toEqual([
      { type: "token_usage", request: counts, session: counts },
    ]);
    expect(place.server.requests).toHaveLength(2);
    expect(conversation("openai-responses", bodyAt(place, 1)).slice(1)).toEqual([
      { role: "user", content: [{ type: "input_text", text: "go" }] },
      { role: "assistant", content: [{ type: "output_text", text: "The report covers three" }] },
      { role: "user", content: [{ type: "input_text", text: "again" }] },
    ]);
  });

  it("an overload in the middle of a text is tried again once, and the half text is nobody's answer", async () => {
    const { place, stream, history } = await replay("anthropic", ["overloaded-after-text", "good-answer"]);
    expect(ends(stream)).toMatchObject([
      { status: "timeout", attempt: 1, error_message: expect.stringContaining("Overloaded") },
      { status: "completed" },
    ]);
    const half = "I will start wi";
    expect(said(stream)).toMatchObject([{ text: half, stop_reason: "timeout" }, { text: "All finished." }]);
    expect(said(history).filter(({ stop_reason: reason }) => reason === undefined)).toMatchObject([
      { text: "All finished." },
    ]);
    expect(place.server.requests).toHaveLength(3);
    for (const index of [1, 2]) {
      const messages = conversation("anthropic", bodyAt(place, index));
      const answers = messages.filter(({ role }) => role === "assistant");
      expect(JSON.stringify(answers)).not.toContain(half);
      const [task, retried] = list(messages[0]?.["content"]);
      expect(task).toMatchObject({ type: "text", text: "go" });
      expect(retried?.["text"]).toMatch(/^\[turn_retried\][\s\S]*I will start wi[\s\S]*\[\/turn_retried\]$/);
      expect(JSON.stringify(messages).split(half)).toHaveLength(2);
    }
    const last = conversation("anthropic", bodyAt(place, 2));
    expect(last.filter(({ role }) => role === "assistant")).toEqual([
      { role: "assistant", content: [{ type: "text", text: "All finished." }] },
    ]);
  });

  it("thinking goes back as it came, with its whole signature, before the redacted one and the call", async () => {
    const { place, stream } = await replay("anthropic", ["signature-in-two-pieces", "good-answer"]);
    expect(statuses(stream)).toEqual(["completed", "completed"]);
    for (const index of [1, 2]) {
      expect(conversation("anthropic", bodyAt(place, index))[1]).toEqual({
        role: "assistant",
        content: [
          { type: "thinking", thinking: "Line 1\n  line 2 é", signature: "SIG-part-one+part/two==" },
          { type: "redacted_thinking", data: "OPAQUE+DATA/123==" },
          { type: "tool_use", id: "toolu_a", name: "read_file", input: { file_path: "a.txt" } },
        ],
      });
      expect(pairs("anthropic", bodyAt(place, index))).toMatchObject([{ id: "toolu_a", output: "     1\ta.txt" }]);
    }
  });

  it("a call that the provider could not read is a failed attempt, with the reason, and leaves nothing behind", async () => {
    const { place, stream } = await replay("gemini", ["malformed-function-call", "good-answer"]);
    const [first, second] = ends(stream);
    expect(first).toMatchObject({ attempt: 1, retry_in_ms: expect.any(Number) });
    expect(first?.status).not.toBe("completed");
    expect(first?.error_message).toMatch(/MALFORMED_FUNCTION_CALL.*print\(default_api\.read_file\(/);
    expect(second).toMatchObject({ status: "completed" });
    expect(said(stream)).toMatchObject([{ text: "All finished." }]);
    expect(conversation("gemini", bodyAt(place, 1))).toEqual([{ role: "user", parts: [{ text: "go" }] }]);
    expect(conversation("gemini", bodyAt(place, 2))).toEqual([
      { role: "user", parts: [{ text: "go" }] },
      { role: "model", parts: [{ text: "All finished." }] },
      { role: "user", parts: [{ text: "again" }] },
    ]);
  });

  it("and when it can never read one, the attempts end, and the Task says why", async () => {
    const place = await openFor(
      "gemini",
      Array.from({ length: 20 }, () => "malformed-function-call"),
    );
    const session = await newSession(place);
    const stream = await collectAtOnce(session, session.run(go));
    expect(place.server.requests.length).toBeGreaterThan(1);
    expect(place.server.requests.length).toBeLessThanOrEqual(6);
    expect(statuses(stream).at(-1)).toBe("failed");
    expect(said(stream)).toEqual([]);
    expect(stream.at(-1)?.payload).toMatchObject({
      type: "abort",
      reason: expect.stringContaining("MALFORMED_FUNCTION_CALL"),
    });
  });
});
