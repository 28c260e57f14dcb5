/** A model that a user would name, for each protocol, and Sessions with it. */
import {
  type AgentOptions,
  type ApproveFn,
  createLanguageModel,
  GenerativeModel,
  isPayload,
  type OmniMessage,
  type Session,
  systemClock,
} from "@coxswain/core";
import { startWireServer, type WireExchange } from "@coxswain/testing";
import { generate, generousLimits } from "../../llm/support/generate.ts";
import { answerBody, type Block, type End, settingsFor, type WireProtocol } from "../../llm/support/streams.ts";
import { atEnd, open, type Place } from "../support.ts";

export const models: Record<WireProtocol, { provider: string; modelId: string }> = {
  "openai-chat": { provider: "deepseek", modelId: "deepseek-reasoner" },
  "openai-responses": { provider: "openai", modelId: "gpt-5" },
  anthropic: { provider: "anthropic", modelId: "claude-sonnet-4-5" },
  gemini: { provider: "google", modelId: "gemini-3-pro-preview" },
};

export const allow: ApproveFn = () => Promise.resolve("allow");

export function openFor(
  protocol: WireProtocol,
  answers: readonly (string | WireExchange)[],
  options: AgentOptions = {},
): Promise<Place> {
  const settings = ["vision = true"];
  return open(answers, options, { ...models[protocol], protocol, settings, builtInTools: ["read_file"] });
}

export function played(protocol: WireProtocol, blocks: readonly Block[], reason?: End["reason"]): WireExchange {
  const isCalling = blocks.some((block) => "call" in block);
  return { body: answerBody(protocol, blocks, { reason: reason ?? (isCalling ? "calls" : "stop") }) };
}

export function read(id: string, path: string): Block {
  return { call: { id, name: "read_file", arguments: JSON.stringify({ file_path: path }) } };
}

/** Runs to the end without waiting between attempts. */
export async function collectAtOnce(session: Session, stream: AsyncIterable<OmniMessage>): Promise<OmniMessage[]> {
  const messages: OmniMessage[] = [];
  for await (const message of stream) {
    messages.push(message);
    if (isPayload(message, "request_end")) setImmediate(() => session.skipReconnectWait());
  }
  return messages;
}

/** The body that a context of this history sends for these messages. */
export async function sentFor(
  model: { protocol: WireProtocol; provider: string; modelId: string },
  history: OmniMessage[],
  newMessages: OmniMessage[],
): Promise<unknown> {
  const { protocol } = model;
  const server = await startWireServer({ handler: () => played(protocol, [{ text: "Done." }]) });
  atEnd(() => server.close());
  const settings = { ...settingsFor(protocol, server.url), ...model };
  const llm = new GenerativeModel({
    model: await createLanguageModel(settings, { env: {} }),
    systemPrompt: "test",
    history,
    clock: systemClock,
    limits: generousLimits,
  });
  const { outcome } = await generate(llm, { newMessages, thinkingLevel: "high" });
  if (outcome.status !== "completed") throw new Error(`the request ended ${outcome.status}: ${outcome.errorMessage}`);
  return server.requests[0]?.body;
}

export function statuses(stream: readonly OmniMessage[]): string[] {
  return stream.flatMap((message) => (isPayload(message, "request_end") ? [message.payload.status] : []));
}
