import { type ApproveFn, defineTool, isPayload, type OmniMessage, type Session, userText } from "@coxswain/core";
import type { WireExchange } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { answerBody, type Block } from "../llm/support/streams.ts";
import { collect, newSession, open, type Place, resume, sentMessages } from "./support.ts";

const allow: ApproveFn = () => Promise.resolve("allow");
const go = [userText("go")];
const steering = "[user_steering]turn left[/user_steering]";
const compaction = { maxContextLength: 1_000, prompt: "Sum it up." };

const tools = ["slow", "quick"].map((name) =>
  defineTool({
    name,
    description: "Is done soon.",
    parameters: { type: "object" },
    permission: "r",
    execute: async () => {
      if (name === "slow")
        for (let turn = 0; turn < 5; turn += 1) await new Promise((resolve) => setImmediate(resolve));
      return name;
    },
  }),
);

function saying(text: string, input = 10): WireExchange {
  return { body: answerBody("openai-chat", [{ text }], { reason: "stop", usage: { input, output: 5 } }) };
}

function calling(input = 10): WireExchange {
  const blocks = tools.map(
    ({ definition: { name } }): Block => ({ call: { id: `call_${name}`, name, arguments: "{}" } }),
  );
  return { body: answerBody("openai-chat", blocks, { reason: "calls", usage: { input, output: 5 } }) };
}

/** Says it once, at the message with this number of those of which it is so. */
async function steerAt(
  session: Session,
  isTime: (message: OmniMessage) => boolean,
  number = 1,
): Promise<OmniMessage[]> {
  const stream: OmniMessage[] = [];
  let seen = 0;
  for await (const message of session.run(go, { approve: allow })) {
    stream.push(message);
    if (!isTime(message)) continue;
    seen += 1;
    if (seen === number) expect(session.steer("turn left")).toBe(true);
  }
  return stream;
}

/** In one request as an input, in those after it as history, in the Trace, and before the reader: each once. */
async function expectDeliveredOnce(
  place: Place,
  session: Session,
  stream: readonly OmniMessage[],
  request: number,
): Promise<void> {
  const isSteering = (message: OmniMessage): boolean => isPayload(message, "text") && message.payload.text === steering;
  expect(stream.filter(isSteering)).toHaveLength(1);
  expect((await collect(session.history())).filter(isSteering)).toHaveLength(1);
  for (const [index] of place.server.requests.entries()) {
    const copies = sentMessages(place, index).filter(({ content }) => content === steering);
    expect(copies, `request ${index}`).toHaveLength(index < request ? 0 : 1);
  }
  expect(session.steer("too late")).toBe(false);
}

describe("steering over HTTP is delivered once", () => {
  it.each([
    ["at the first of two outputs", 1],
    ["at the last output, in the moment a batch of tools ends", 2],
  ])("when it comes %s", async (_, number) => {
    const place = await open([calling(), saying("ok"), saying("more")], { tools });
    const session = await newSession(place);
    const stream = await steerAt(session, (message) => isPayload(message, "tool_call_output"), number);
    expect(sentMessages(place, 1).map(({ role }) => role)).toEqual(["user", "assistant", "tool", "tool", "user"]);
    await session.dispose();
    const resumed = await resume(place, session.id);
    await collect(resumed.run([userText("more")]));
    await expectDeliveredOnce(place, resumed, stream, 1);
  });

  it.each(["partial_text", "text", "token_usage", "request_end"])(
    "when it comes at the %s of a last answer, and the Task goes on",
    async (type) => {
      const place = await open([saying("bye"), saying("ok")]);
      const session = await newSession(place);
      const stream = await steerAt(session, ({ payload }) => payload.type === type);
      expect(sentMessages(place, 1).map(({ content }) => content)).toEqual(["go", "bye", steering]);
      await expectDeliveredOnce(place, session, stream, 1);
    },
  );

  it.each(["compaction_begin", "partial_text", "compaction_end"])(
    "when it comes at the %s of a compaction, at a Task's end and in its middle",
    async (type) => {
      for (const first of [saying("bye", 2_000), calling(2_000)]) {
        const place = await open([first, saying("[summary]so far[/summary]"), saying("ok")], { tools, compaction });
        const session = await newSession(place);
        let isCompacting = false;
        const stream = await steerAt(session, ({ payload }) => {
          if (payload.type === "compaction_begin") isCompacting = true;
          return isCompacting && payload.type === type;
        });
        const [summary, ...rest] = sentMessages(place, 2).map(({ content }) => content);
        expect(summary).toBe("[context_summary]so far[/context_summary]");
        expect(rest).toEqual([steering]);
        await expectDeliveredOnce(place, session, stream, 2);
      }
    },
  );

  it("when it comes with the compaction that the last allowed turn made due, which then is the last word", async () => {
    const place = await open([calling(2_000), saying("[summary]so far[/summary]"), saying("ok")], {
      tools,
      compaction,
      maxTurns: 1,
    });
    const session = await newSession(place);
    const stream = await steerAt(session, (message) => isPayload(message, "compaction_end"));
    expect(stream.at(-1)?.payload).toMatchObject({ text: "[reached max turns (1); stopping]", stop_reason: "failed" });
    expect(place.server.requests).toHaveLength(2);
    await session.dispose();
    const resumed = await resume(place, session.id);
    await collect(resumed.run([]));
    expect(sentMessages(place, 2).map(({ content }) => content)).toEqual([
      "[context_summary]so far[/context_summary]",
      steering,
    ]);
    await expectDeliveredOnce(place, resumed, stream, 2);
  });

  it("never when nothing runs: then it is refused", async () => {
    const place = await open([saying("bye"), saying("ok")]);
    const session = await newSession(place);
    expect(session.steer("too early")).toBe(false);
    await collect(session.run(go));
    expect(session.steer("turn left")).toBe(false);
    const controller = new AbortController();
    for await (const message of session.run([userText("more")], { signal: controller.signal })) {
      if (!isPayload(message, "request_begin")) continue;
      controller.abort();
      expect(session.steer("too late")).toBe(false);
    }
    expect(JSON.stringify(await collect(session.history()))).not.toMatch(/too early|turn left|too late/);
  });
});
