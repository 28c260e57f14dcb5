/** Serves one long chat-completions stream to whoever asks; runs in a thread of its own. */
import { createServer } from "node:http";
import { parentPort, workerData } from "node:worker_threads";

const { chunks } = workerData as { chunks: number };

const events: string[] = [];
const chunk = (delta: object, finish: string | null): string =>
  `data: ${JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1_767_225_600,
    model: "bench",
    choices: [{ index: 0, delta, finish_reason: finish }],
  })}\n\n`;
events.push(chunk({ role: "assistant", content: "" }, null));
for (let index = 0; index < chunks; index += 1) events.push(chunk({ content: "word " }, null));
events.push(chunk({}, "stop"));
events.push(
  `data: ${JSON.stringify({ id: "chatcmpl-1", choices: [], usage: { prompt_tokens: 10, completion_tokens: chunks, total_tokens: chunks + 10 } })}\n\n`,
);
events.push("data: [DONE]\n\n");
const body = Buffer.from(events.join(""));

const server = createServer((request, response) => {
  request.resume();
  request.on("end", () => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.end(body);
  });
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  parentPort?.postMessage(typeof address === "object" && address !== null ? address.port : 0);
});
