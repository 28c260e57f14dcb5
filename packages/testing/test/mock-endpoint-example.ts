import { createAgent, createLanguageModel, userText } from "@coxswain/core";
import { startWireServer } from "@coxswain/testing";

const choices = [{ delta: { content: "Hello from a mock." } }, { delta: {}, finish_reason: "stop" }];
const data = [...choices.map((choice) => JSON.stringify({ choices: [choice] })), "[DONE]"];
const server = await startWireServer({
  exchanges: [{ body: data.map((text) => `data: ${text}\n\n`).join(""), splitAt: "every-byte" }], // one for each request
});
const model = await createLanguageModel({
  provider: "mock",
  modelId: "any",
  protocol: "openai-chat",
  baseUrl: `${server.url}/v1`,
  contextWindow: 0, // unknown
  vision: false,
});
const session = await (await createAgent({ model, trace: false })).createSession({ workspaceDir: process.cwd() });
for await (const { payload } of session.run([userText("Hi")])) {
  if (payload.type === "text" || payload.type === "request_end") console.log(payload);
}
console.log(server.requests[0]?.body); // what was sent
await session.dispose();
await server.close();
