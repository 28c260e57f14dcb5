/** What an answer is counted as. */
import { isPayload, type TokenCounts } from "@coxswain/core";
import { expect } from "vitest";
import { delta, type Generated, generate, sse } from "./generate.ts";
import { contextFor, type WireProtocol } from "./streams.ts";

export async function answered(protocol: WireProtocol, body: string): Promise<Generated> {
  const fetch = () => Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  return generate(await contextFor(protocol, "http://127.0.0.1:9", { fetch }));
}

export async function countsOf(protocol: WireProtocol, body: string): Promise<TokenCounts> {
  const { messages, outcome } = await answered(protocol, body);
  expect(outcome).toMatchObject({ status: "completed" });
  const told = messages.at(-1);
  if (told === undefined || !isPayload(told, "token_usage")) throw new Error("no token_usage at the end");
  expect(told.payload.session).toEqual(told.payload.request);
  return told.payload.request;
}

/** As the protocol writes it down. */
export const record = (input: number, cacheRead: number, cacheWrite: number, output: number): TokenCounts => ({
  input,
  cache_read: cacheRead,
  cache_write: cacheWrite,
  output,
  total: input + cacheRead + cacheWrite + output,
});
/** A chat completion that tells this usage. */
export const chat = (usage: unknown): string => sse([delta({ content: "hi" }, "stop"), { choices: [], usage }]);
