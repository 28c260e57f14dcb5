/** OpenAI's responses, of which nothing is kept there. */
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
  thoughts,
} from "./task.ts";

type Event = { type: string } & Record<string, unknown>;

const modelId = "gpt-5";
const encrypted = "gAAAAABo-first+half/second==";
const laterEncrypted = "gAAAAABo-later==";

function response(items: readonly (readonly Event[])[]): string {
  const about = { id: "resp_1", object: "response", created_at: 1_700_000_000, model: modelId, output: [] };
  const usage = {
    input_tokens: 20,
    input_tokens_details: { cached_tokens: 0 },
    output_tokens: 9,
    output_tokens_details: { reasoning_tokens: 4 },
    total_tokens: 29,
  };
  const events = [
    { type: "response.created", response: { ...about, status: "in_progress" } },
    { type: "response.in_progress", response: { ...about, status: "in_progress" } },
    ...items.flatMap((item, index) => item.map((data) => ({ output_index: index, ...data }))),
    { type: "response.completed", response: { ...about, status: "completed", usage } },
  ];
  return events.map((data, index) => namedEvent({ ...data, sequence_number: index })).join("");
}

/** Its encrypted form is whole only at its end. */
function reasoning(id: string, summaries: readonly string[], encryptedContent: string): Event[] {
  const item = { id, type: "reasoning" };
  const parts = summaries.map((text) => ({ type: "summary_text", text }));
  const early = { ...item, encrypted_content: "gAAAAABo-early", summary: [] };
  return [
    { type: "response.output_item.added", item: early },
    ...parts.flatMap((part, index) => {
      const at = { item_id: id, summary_index: index };
      const cut = part.text.indexOf(" ");
      return [
        { type: "response.reasoning_summary_part.added", ...at, part: { type: "summary_text", text: "" } },
        { type: "response.reasoning_summary_text.delta", ...at, delta: part.text.slice(0, cut) },
        { type: "response.reasoning_summary_text.delta", ...at, delta: part.text.slice(cut) },
        { type: "response.reasoning_summary_text.done", ...at, text: part.text },
        { type: "response.reasoning_summary_part.done", ...at, part },
      ];
    }),
    { type: "response.output_item.done", item: { ...item, encrypted_content: encryptedContent, summary: parts } },
  ];
}

function message(id: string, text: string, phase: string): Event[] {
  const item = { id, type: "message", role: "assistant", phase };
  const at = { item_id: id, content_index: 0 };
  const part = { type: "output_text", text, annotations: [] };
  return [
    { type: "response.output_item.added", item: { ...item, status: "in_progress", content: [] } },
    { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
    { type: "response.output_text.delta", ...at, delta: text },
    { type: "response.output_text.done", ...at, text },
    { type: "response.content_part.done", ...at, part },
    { type: "response.output_item.done", item: { ...item, status: "completed", content: [part] } },
  ];
}

function call(id: string, callId: string, name: string, json: string): Event[] {
  const item = { id, type: "function_call", call_id: callId, name };
  return [
    { type: "response.output_item.added", item: { ...item, status: "in_progress", arguments: "" } },
    { type: "response.function_call_arguments.delta", item_id: id, delta: json.slice(0, 5) },
    { type: "response.function_call_arguments.delta", item_id: id, delta: json.slice(5) },
    { type: "response.function_call_arguments.done", item_id: id, arguments: json },
    { type: "response.output_item.done", item: { ...item, status: "completed", arguments: json } },
  ];
}

function summary(texts: readonly string[]) {
  return texts.map((text) => ({ type: "summary_text", text }));
}

function image(data: string) {
  return { type: "input_image", image_url: `data:image/png;base64,${data}` };
}

/** A whole request. */
export function responsesRequest(sessionId: string, input: readonly unknown[]) {
  return {
    model: modelId,
    stream: true,
    store: false,
    include: ["reasoning.encrypted_content"],
    prompt_cache_key: sessionId,
    reasoning: { effort: "high", summary: "auto" },
    input: [
      { role: "developer", content: systemPrompt },
      { role: "user", content: [{ type: "input_text", text: question }, image(png)] },
      ...input,
    ],
    tools: declared().map(({ name, description, schema }) => ({
      type: "function",
      name,
      description,
      parameters: schema,
      strict: false,
    })),
  };
}

/** Both calls and their outputs. */
export const callsAndOutputs = [
  { type: "function_call", call_id: "call_1", name: "read_file", arguments: readArguments },
  { type: "function_call", call_id: "call_2", name: "look", arguments: lookArguments },
  { type: "function_call_output", call_id: "call_1", output: readOutput },
  {
    type: "function_call_output",
    call_id: "call_2",
    output: [{ type: "input_text", text: lookOutput }, image(otherPng)],
  },
];

const firstInput = [
  { type: "reasoning", id: "rs_1", encrypted_content: encrypted, summary: summary(thoughts) },
  { role: "assistant", id: "msg_1", phase: "commentary", content: [{ type: "output_text", text: saying }] },
  ...callsAndOutputs,
];

export const gpt5: Exchange = {
  provider: "openai",
  modelId,
  protocol: "openai-responses",
  answers: [
    response([
      reasoning("rs_1", thoughts, encrypted),
      message("msg_1", saying, "commentary"),
      call("fc_1", "call_1", "read_file", readArguments),
      call("fc_2", "call_2", "look", lookArguments),
    ]),
    response([reasoning("rs_2", [laterThinking], laterEncrypted), message("msg_2", answer, "final_answer")]),
    response([message("msg_3", lastAnswer, "final_answer")]),
  ],
  expected: ({ sessionId }) => [
    responsesRequest(sessionId, firstInput),
    responsesRequest(sessionId, [
      ...firstInput,
      { type: "reasoning", id: "rs_2", encrypted_content: laterEncrypted, summary: summary([laterThinking]) },
      { role: "assistant", id: "msg_2", phase: "final_answer", content: [{ type: "output_text", text: answer }] },
      { role: "user", content: [{ type: "input_text", text: laterQuestion }] },
    ]),
  ],
};
