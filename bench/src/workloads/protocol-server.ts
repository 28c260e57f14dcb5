/** Serves one long answer of each protocol to whoever asks, by the path of the request; runs in a process of its own. */
import { createServer } from "node:http";

const deltas = Number(process.argv[2]);
const word = "word ";
const used = { input: 10, output: deltas };

type Event = { type: string } & Record<string, unknown>;

const plain = (data: unknown): string => `data: ${JSON.stringify(data)}\n\n`;
const named = (data: Event): string => `event: ${data.type}\n${plain(data)}`;
const repeated = (write: (index: number) => string): string[] =>
  Array.from({ length: deltas }, (_, index) => write(index));

function chat(): string[] {
  const chunk = (fields: object): string =>
    plain({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1_767_225_600, model: "bench", ...fields });
  const delta = (fields: object, reason: string | null): string =>
    chunk({ choices: [{ index: 0, delta: fields, finish_reason: reason }] });
  const usage = { prompt_tokens: used.input, completion_tokens: used.output, total_tokens: used.input + used.output };
  return [
    delta({ role: "assistant", content: "" }, null),
    ...repeated(() => delta({ content: word }, null)),
    delta({}, "stop"),
    chunk({ choices: [], usage }),
    "data: [DONE]\n\n",
  ];
}

function responses(): string[] {
  let sequence = 0;
  const event = (data: Event): string => named({ ...data, sequence_number: sequence++ });
  const response = { id: "resp_1", object: "response", created_at: 1_767_225_600, model: "bench", output: [] };
  const item = { id: "msg_1", type: "message", role: "assistant", status: "in_progress", content: [] };
  const place = { item_id: item.id, output_index: 0, content_index: 0 };
  const usage = { input_tokens: used.input, output_tokens: used.output, total_tokens: used.input + used.output };
  return [
    event({ type: "response.created", response: { ...response, status: "in_progress" } }),
    event({ type: "response.output_item.added", output_index: 0, item }),
    ...repeated(() => event({ type: "response.output_text.delta", ...place, delta: word, logprobs: [] })),
    event({ type: "response.output_item.done", output_index: 0, item: { ...item, status: "completed" } }),
    event({ type: "response.completed", response: { ...response, status: "completed", usage } }),
  ];
}

function anthropic(): string[] {
  const message = { id: "msg_1", type: "message", role: "assistant", model: "bench", content: [] };
  const delta = { type: "text_delta", text: word };
  return [
    named({ type: "message_start", message: { ...message, usage: { input_tokens: used.input, output_tokens: 1 } } }),
    named({ type: "content_block_start", index: 0, content_block: { type: "text", text: "" } }),
    ...repeated(() => named({ type: "content_block_delta", index: 0, delta })),
    named({ type: "content_block_stop", index: 0 }),
    named({ type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: used.output } }),
    named({ type: "message_stop" }),
  ];
}

function gemini(): string[] {
  const usageMetadata = {
    promptTokenCount: used.input,
    candidatesTokenCount: used.output,
    totalTokenCount: used.input + used.output,
  };
  const chunk = (text: string, more: object): string =>
    plain({
      candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0, ...more }],
      usageMetadata,
      modelVersion: "bench",
      responseId: "r_1",
    });
  return [...repeated(() => chunk(word, {})), chunk("", { finishReason: "STOP" })];
}

const answers: readonly [RegExp, Buffer][] = (
  [
    [/\/chat\/completions$/, chat],
    [/\/responses$/, responses],
    [/\/messages$/, anthropic],
    [/:streamGenerateContent/, gemini],
  ] as const
).map(([path, write]) => [path, Buffer.from(write().join(""))]);

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    const body = answers.find(([path]) => path.test(request.url ?? ""))?.[1];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "text/event-stream" });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.send?.(typeof address === "object" && address !== null ? address.port : 0);
});
process.on("disconnect", () => process.exit());
