import { join } from "node:path";
import { FileTraceStore, isPayload, type OmniMessage, replayTrace, toolCallOutput, userText } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { protocols, type WireProtocol } from "../../llm/support/streams.ts";
import { sonnet } from "./anthropic.ts";
import { formFaults } from "./form.ts";
import { gemini3 } from "./gemini.ts";
import { models, sentFor } from "./models.ts";
import { deepseek } from "./openai-chat.ts";
import { gpt5 } from "./openai-responses.ts";
import { conversation, pairs } from "./reading.ts";
import {
  answer,
  type Exchange,
  laterQuestion,
  laterThinking,
  lookOutput,
  play,
  question,
  readOutput,
  saying,
  thinking,
} from "./task.ts";

const exchanges: Record<WireProtocol, Exchange> = {
  "openai-chat": deepseek,
  "openai-responses": gpt5,
  anthropic: sonnet,
  gemini: gemini3,
};

/** What only the provider itself understands. */
const signed: Record<WireProtocol, RegExp> = {
  "openai-chat": /reasoning_content/,
  "openai-responses": /gAAAAABo|rs_1|rs_2|msg_1|msg_2|commentary|final_answer/,
  anthropic: /EqMD|EmwK/,
  gemini: /CiQB/,
};

/** What the Session of that exchange would be resumed with. */
async function recorded(protocol: WireProtocol): Promise<OmniMessage[]> {
  const { place, session } = await play(exchanges[protocol]);
  await session.dispose();
  const store = new FileTraceStore({
    tracesDir: join(place.home, "default_project", "agents", "default_agent", "traces"),
  });
  const { messages } = await store.read(session.id);
  return replayTrace(messages).history;
}

describe.each(protocols)("what was recorded over %s", (source) => {
  it.each(protocols.filter((protocol) => protocol !== source))(
    "goes to %s with its words, calls and outputs, without its thinking and signatures",
    async (target) => {
      const history = await recorded(source);
      expect(history.some((message) => isPayload(message, "thinking"))).toBe(true);
      const body = await sentFor({ ...models[target], protocol: target }, history, [userText("on")]);
      const text = JSON.stringify(conversation(target, body));
      expect(text).not.toMatch(signed[source]);
      for (const words of [thinking, laterThinking]) {
        if (source !== "gemini") expect(text).not.toContain(JSON.stringify(words).slice(1, -1));
      }
      for (const words of [question, saying, answer, laterQuestion]) {
        expect(text).toContain(JSON.stringify(words).slice(1, -1));
      }
      expect(formFaults(target, body)).toEqual([]);
      expect(pairs(target, body).map(({ name, output }) => [name, JSON.stringify(output)])).toEqual([
        ["read_file", JSON.stringify(readOutput)],
        ["look", expect.stringContaining(lookOutput)],
      ]);
    },
  );

  it("can be answered by Claude in the middle of a Task, without thinking where the calls have none of its own", async () => {
    const history = await recorded(source);
    const lastCall = history.findLastIndex((message) => isPayload(message, "tool_call"));
    const ids = history.flatMap((message) => (isPayload(message, "tool_call") ? [message.payload.tool_call_id] : []));
    const outputs = ids.map((toolCallId) => toolCallOutput({ output: "ok", toolCallId }));
    const body = await sentFor({ ...models.anthropic, protocol: "anthropic" }, history.slice(0, lastCall + 1), outputs);
    expect(formFaults("anthropic", body)).toEqual([]);
    const thinks = { thinking: { type: "enabled", budget_tokens: 16_384 } };
    if (source === "anthropic") expect(body).toMatchObject(thinks);
    else expect(body).not.toHaveProperty("thinking");
  });
});
