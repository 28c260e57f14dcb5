import { LLMock } from "@copilotkit/aimock";
import { toolCallOutput, userText } from "@coxswain/core";
import { afterAll, beforeAll, expect, it } from "vitest";
import { calls, chatContext, generate, texts, undisciplined } from "./support/generate.ts";

const mock = new LLMock({ port: 0 });

beforeAll(async () => {
  mock.onMessage("read it", { toolCalls: [{ name: "read_file", arguments: '{"file_path":"a.txt"}' }] });
  mock.onMessage("hello", { content: "Hello from another server.", reasoning: "A greeting." });
  await mock.start();
});

afterAll(async () => {
  await mock.stop();
});

it("a server that others wrote is understood: text, reasoning, and a call with its output", async () => {
  const llm = chatContext(`${mock.url}/v1`);
  const first = await generate(llm, { newMessages: [userText("hello")] });
  expect(first.outcome.status).toBe("completed");
  expect(texts(first.messages)).toEqual(["Hello from another server."]);
  expect(first.messages.some((message) => message.payload.type === "thinking")).toBe(true);
  const second = await generate(llm, { newMessages: [userText("read it")] });
  expect(second.outcome).toMatchObject({ status: "completed", finishReason: "tool_calls" });
  expect(calls(second.messages)).toMatchObject([{ name: "read_file", arguments: '{"file_path":"a.txt"}' }]);
  expect(undisciplined([...first.messages, ...second.messages])).toEqual([]);
  const outputs = calls(second.messages).map(({ id }) => toolCallOutput({ output: "A", toolCallId: id }));
  const third = await generate(llm, { newMessages: [...outputs, userText("hello")] });
  expect(third.outcome.status).toBe("completed");
});
