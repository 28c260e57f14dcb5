import { LLMock } from "@copilotkit/aimock";
import { isPayload, type OmniMessage } from "@coxswain/core";
import { startWireServer, type WireRequest, type WireServer } from "@coxswain/testing";
import { beforeEach, describe, expect, it } from "vitest";
import { protocols, type WireProtocol } from "../llm/support/streams.ts";
import { image as claudeImage, mark, messagesRequest } from "./protocols/anthropic.ts";
import { formFaults } from "./protocols/form.ts";
import { contentsRequest, image as geminiImage, response } from "./protocols/gemini.ts";
import { models, statuses } from "./protocols/models.ts";
import { deepseek } from "./protocols/openai-chat.ts";
import { callsAndOutputs, responsesRequest } from "./protocols/openai-responses.ts";
import { cached, conversation, pairs } from "./protocols/reading.ts";
import {
  answer,
  lastAnswer,
  laterQuestion,
  laterThinking,
  lookArguments,
  lookOutput,
  lookTool,
  otherPng,
  png,
  question,
  readArguments,
  readOutput,
  runTask,
  saying,
  systemPrompt,
  thinking,
} from "./protocols/task.ts";
import { atEnd, open } from "./support.ts";

const ids: Record<WireProtocol, readonly [string, string]> = {
  "openai-chat": ["call_00", "call_01"],
  "openai-responses": ["call_1", "call_2"],
  anthropic: ["toolu_01", "toolu_02"],
  gemini: ["fc-1", "fc-2"],
};
const signature = "EqMDsecond+server==";

let mock: LLMock;
let relay: WireServer;

/** A server that others wrote, behind one that keeps what it was sent: its own journal holds translations. */
beforeEach(async () => {
  mock = new LLMock({ port: 0, strict: true, chunkSize: 7 });
  await mock.start();
  atEnd(() => mock.stop());
  relay = await startWireServer({ handler: (request) => passOn(request, mock.url) });
  atEnd(() => relay.close());
});

async function passOn({ path, headers, body: sent }: WireRequest, url: string) {
  const { host: _host, connection: _connection, "content-length": _length, ...kept } = headers;
  const answered = await fetch(`${url}${path}`, { method: "POST", headers: kept, body: JSON.stringify(sent) });
  const type = answered.headers.get("content-type") ?? "";
  return { status: answered.status, headers: { "content-type": type }, body: await answered.text() };
}

function prepare(protocol: WireProtocol): void {
  const [readId, lookId] = ids[protocol];
  const at = (answers: number) => ({
    predicate: ({ messages }: { messages: { role: string }[] }) => answersIn(messages) === answers,
  });
  mock.on(at(0), {
    reasoning: thinking,
    reasoningSignature: signature,
    content: saying,
    toolCalls: [
      { id: readId, name: "read_file", arguments: readArguments },
      { id: lookId, name: "look", arguments: lookArguments },
    ],
  });
  mock.on(at(1), { reasoning: laterThinking, reasoningSignature: signature, content: answer });
  mock.on(at(2), { content: lastAnswer });
}

/** It makes several messages of one answer, so they are told by their words. */
function answersIn(messages: readonly { role: string }[]): number {
  if (JSON.stringify(messages).includes(JSON.stringify(answer).slice(1, -1))) return 2;
  return messages.some(({ role }) => role === "assistant") ? 1 : 0;
}

/** The second request, whole; `sent` says what only the server could know. */
const expected: Record<WireProtocol, (sent: unknown, sessionId: string) => unknown> = {
  "openai-chat": () => deepseek.expected({ sessionId: "", callIds: ["", ""] })[0],
  "openai-responses"(sent, sessionId) {
    const items = conversation("openai-responses", sent);
    const id = String(items.find(({ type }) => type === "reasoning")?.["id"]);
    const messageId = String(items.find(({ role }) => role === "assistant")?.["id"]);
    expect([id, messageId]).toEqual([expect.stringMatching(/^rs[-_]/), expect.stringMatching(/^msg[-_]/)]);
    const encrypted = Buffer.from(`aimock-encrypted-reasoning:${id}`).toString("base64");
    return responsesRequest(sessionId, [
      { type: "reasoning", id, encrypted_content: encrypted, summary: [{ type: "summary_text", text: thinking }] },
      { role: "assistant", id: messageId, content: [{ type: "output_text", text: saying }] },
      ...callsAndOutputs,
    ]);
  },
  anthropic() {
    const think = { max_tokens: 64_000, thinking: { type: "enabled", budget_tokens: 16_384 } };
    const [readId, lookId] = ids.anthropic;
    return messagesRequest("claude-sonnet-4-5", think, [
      {
        role: "user",
        content: [
          { type: "text", text: question },
          { ...claudeImage(png), ...mark },
        ],
      },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking, signature },
          { type: "text", text: saying },
          { type: "tool_use", id: readId, name: "read_file", input: { file_path: "a.txt", limit: 10 } },
          { type: "tool_use", id: lookId, name: "look", input: { at: "the sky" } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: readId, content: readOutput },
          {
            type: "tool_result",
            tool_use_id: lookId,
            content: [{ type: "text", text: lookOutput }, claudeImage(otherPng)],
            ...mark,
          },
        ],
      },
    ]);
  },
  gemini() {
    const [readId, lookId] = ids.gemini;
    // What a client may say of a call that came without a signature.
    const unsigned = { thoughtSignature: "skip_thought_signature_validator" };
    return contentsRequest({ thinkingLevel: "high" }, [
      { role: "user", parts: [{ text: question }, geminiImage(png)] },
      {
        role: "model",
        parts: [
          { text: thinking, thought: true },
          { text: saying },
          { functionCall: { id: readId, name: "read_file", args: { file_path: "a.txt", limit: 10 } }, ...unsigned },
          { functionCall: { id: lookId, name: "look", args: { at: "the sky" } }, ...unsigned },
        ],
      },
      {
        role: "user",
        parts: [
          response(readId, "read_file", readOutput),
          response(lookId, "look", lookOutput, [geminiImage(otherPng)]),
        ],
      },
    ]);
  },
};

function saidIn(stream: readonly OmniMessage[]): string[] {
  return stream.flatMap(({ payload }) =>
    payload.type === "text" && payload.role === "assistant" ? [payload.text] : [],
  );
}

describe.each(protocols)("a Task over %s with a server that others wrote", (protocol) => {
  it("is understood on both sides, with thinking, two calls, images and a resume", async () => {
    prepare(protocol);
    const settings = ["vision = true"];
    const place = await open(
      [],
      { tools: [lookTool], systemPrompt },
      { ...models[protocol], protocol, serverUrl: relay.url, settings, builtInTools: ["read_file"] },
    );
    const { session, stream } = await runTask(place);
    expect(statuses(stream)).toEqual(["completed", "completed"]);
    expect(saidIn(stream)).toEqual([saying, answer]);
    expect(stream.flatMap((message) => (isPayload(message, "thinking") ? [message.payload.thinking] : []))).toEqual([
      thinking,
      laterThinking,
    ]);

    const bodies = relay.requests.map(({ body }) => body);
    expect(bodies).toHaveLength(3);
    expect(bodies[1]).toEqual(expected[protocol](bodies[1], session.id));
    for (const body of bodies) expect(formFaults(protocol, body)).toEqual([]);
    const [, second, third] = bodies.map((body) => cached(protocol, body).messages);
    expect(third?.slice(0, second?.length)).toEqual(second);
    expect(third?.at(-1)).toContain(laterQuestion);
    expect(pairs(protocol, bodies[2]).map(({ id }) => id)).toEqual(ids[protocol]);

    const journal = mock.getRequests();
    expect(journal.map(({ response: { status } }) => status)).toEqual([200, 200, 200]);
  });
});
