/** Chat completions of a server that shows its reasoning and wants it back. */
import { event } from "../../llm/support/streams.ts";
import {
  answer,
  declared,
  type Exchange,
  lastAnswer,
  laterQuestion,
  laterThinking,
  lookArguments,
  lookOutput,
  otherPng,
  png,
  question,
  readArguments,
  readOutput,
  saying,
  systemPrompt,
  thinking,
  thoughts,
} from "./task.ts";

const modelId = "deepseek-reasoner";

function chunk(fields: Record<string, unknown>): string {
  return event({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_700_000_000,
    model: modelId,
    ...fields,
  });
}

function delta(fields: Record<string, unknown>, finishReason: string | null = null): string {
  return chunk({ choices: [{ index: 0, delta: fields, finish_reason: finishReason }] });
}

function completion(deltas: readonly Record<string, unknown>[], finishReason: string): string {
  const usage = { prompt_tokens: 20, completion_tokens: 9, total_tokens: 29 };
  return [
    delta({ role: "assistant", content: null, reasoning_content: "" }),
    ...deltas.map((fields) => delta(fields)),
    delta({}, finishReason),
    chunk({ choices: [], usage }),
    "data: [DONE]\n\n",
  ].join("");
}

function call(index: number, id: string, name: string, json: string): Record<string, unknown>[] {
  const start = { index, id, type: "function", function: { name, arguments: "" } };
  const pieces = [json.slice(0, 5), json.slice(5)].map((piece) => ({ index, function: { arguments: piece } }));
  return [start, ...pieces].map((fields) => ({ tool_calls: [fields] }));
}

function image(data: string) {
  return { type: "image_url", image_url: { url: `data:image/png;base64,${data}` } };
}

function toolCall(id: string, name: string, json: string) {
  return { id, type: "function", function: { name, arguments: json } };
}

function request(later: readonly unknown[]) {
  return {
    model: modelId,
    stream: true,
    stream_options: { include_usage: true },
    reasoning_effort: "high",
    messages: [
      { role: "system", content: systemPrompt },
      { role: "user", content: [{ type: "text", text: question }, image(png)] },
      {
        role: "assistant",
        content: saying,
        reasoning_content: thinking,
        tool_calls: [toolCall("call_00", "read_file", readArguments), toolCall("call_01", "look", lookArguments)],
      },
      { role: "tool", tool_call_id: "call_00", content: readOutput },
      { role: "tool", tool_call_id: "call_01", content: lookOutput },
      { role: "user", content: [{ type: "text", text: "Images in the output of call_01:" }, image(otherPng)] },
      ...later,
    ],
    tools: declared().map(({ name, description, schema }) => ({
      type: "function",
      function: { name, description, parameters: schema },
    })),
  };
}

export const deepseek: Exchange = {
  provider: "deepseek",
  modelId,
  protocol: "openai-chat",
  answers: [
    completion(
      [
        ...thoughts.map((piece) => ({ reasoning_content: piece })),
        { content: saying.slice(0, 4) },
        { content: saying.slice(4) },
        ...call(0, "call_00", "read_file", readArguments),
        ...call(1, "call_01", "look", lookArguments),
      ],
      "tool_calls",
    ),
    completion([{ reasoning_content: laterThinking }, { content: answer }], "stop"),
    completion([{ content: lastAnswer }], "stop"),
  ],
  expected: () => [
    request([]),
    request([
      { role: "assistant", content: answer, reasoning_content: laterThinking },
      { role: "user", content: laterQuestion },
    ]),
  ],
};
