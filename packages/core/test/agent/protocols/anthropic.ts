/** Anthropic's messages. */
import { namedEvent } from "../../llm/support/streams.ts";
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

type Delta = { type: string } & Record<string, unknown>;

const signature = ["EqMDCkYIBRgC+first/", "second+half=="] as const;
const laterSignature = "EqMDlater==";
const redacted = "EmwKAhgBEgy/opaque+data==";

function block(index: number, start: Record<string, unknown>, deltas: readonly Delta[]): string[] {
  return [
    namedEvent({ type: "content_block_start", index, content_block: start }),
    ...deltas.map((delta) => namedEvent({ type: "content_block_delta", index, delta })),
    namedEvent({ type: "content_block_stop", index }),
  ];
}

function message(blocks: readonly string[][], stopReason: string): string {
  const usage = { input_tokens: 20, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 };
  const start = { id: "msg_01", type: "message", role: "assistant", model: "claude", content: [], usage };
  return [
    namedEvent({ type: "message_start", message: { ...start, stop_reason: null, stop_sequence: null } }),
    ...blocks.flat(),
    namedEvent({
      type: "message_delta",
      delta: { stop_reason: stopReason, stop_sequence: null },
      usage: { output_tokens: 9 },
    }),
    namedEvent({ type: "message_stop" }),
  ].join("");
}

function text(index: number, words: string): string[] {
  return block(index, { type: "text", text: "" }, [{ type: "text_delta", text: words }]);
}

function call(index: number, id: string, name: string, json: string): string[] {
  const pieces = ["", json.slice(0, 5), json.slice(5)];
  return block(
    index,
    { type: "tool_use", id, name, input: {} },
    pieces.map((piece) => ({ type: "input_json_delta", partial_json: piece })),
  );
}

const answers = [
  message(
    [
      block(0, { type: "thinking", thinking: "", signature: "" }, [
        ...thoughts.map((piece) => ({ type: "thinking_delta", thinking: piece })),
        ...signature.map((piece) => ({ type: "signature_delta", signature: piece })),
      ]),
      block(1, { type: "redacted_thinking", data: redacted }, []),
      text(2, saying),
      call(3, "toolu_01", "read_file", readArguments),
      call(4, "toolu_02", "look", lookArguments),
    ],
    "tool_use",
  ),
  message(
    [
      block(0, { type: "thinking", thinking: "", signature: "" }, [
        { type: "thinking_delta", thinking: laterThinking },
        { type: "signature_delta", signature: laterSignature },
      ]),
      text(1, answer),
    ],
    "end_turn",
  ),
  message([text(0, lastAnswer)], "end_turn"),
] as const;

export const mark = { cache_control: { type: "ephemeral" } };

export function image(data: string) {
  return { type: "image", source: { type: "base64", media_type: "image/png", data } };
}

const input = [{ type: "text", text: question }, image(png)] as const;
const firstAnswer = {
  role: "assistant",
  content: [
    { type: "thinking", thinking, signature: signature.join("") },
    { type: "redacted_thinking", data: redacted },
    { type: "text", text: saying },
    { type: "tool_use", id: "toolu_01", name: "read_file", input: { file_path: "a.txt", limit: 10 } },
    { type: "tool_use", id: "toolu_02", name: "look", input: { at: "the sky" } },
  ],
};
const outputs = {
  role: "user",
  content: [
    { type: "tool_result", tool_use_id: "toolu_01", content: readOutput },
    {
      type: "tool_result",
      tool_use_id: "toolu_02",
      content: [{ type: "text", text: lookOutput }, image(otherPng)],
      ...mark,
    },
  ],
};
const secondAnswer = {
  role: "assistant",
  content: [
    { type: "thinking", thinking: laterThinking, signature: laterSignature },
    { type: "text", text: answer },
  ],
};

/** A whole request. */
export function messagesRequest(modelId: string, think: Record<string, unknown>, messages: readonly unknown[]) {
  return {
    model: modelId,
    stream: true,
    ...think,
    system: [{ type: "text", text: systemPrompt, ...mark }],
    messages,
    tools: declared().map(({ name, description, schema }) => ({
      name,
      description,
      input_schema: schema,
      eager_input_streaming: true,
    })),
  };
}

function exchange(modelId: string, think: Record<string, unknown>): Exchange {
  const request = (messages: readonly unknown[]) => messagesRequest(modelId, think, messages);
  return {
    provider: "anthropic",
    modelId,
    protocol: "anthropic",
    answers,
    expected: () => [
      request([{ role: "user", content: [input[0], { ...input[1], ...mark }] }, firstAnswer, outputs]),
      request([
        { role: "user", content: input },
        firstAnswer,
        outputs,
        secondAnswer,
        { role: "user", content: [{ type: "text", text: laterQuestion, ...mark }] },
      ]),
    ],
  };
}

/** A model that is told how many tokens to think. */
export const sonnet = exchange("claude-sonnet-4-5", {
  max_tokens: 64_000,
  thinking: { type: "enabled", budget_tokens: 16_384 },
});

/** A model that finds its own budget. */
export const opus = exchange("claude-opus-4-7", {
  max_tokens: 128_000,
  thinking: { type: "adaptive", display: "summarized" },
  output_config: { effort: "high" },
});
