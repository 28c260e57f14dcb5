/** An engine over real HTTP whose time stands still until a test lets it pass. */
import {
  ContextEngine,
  type ContextEngineOptions,
  type GenerativeModelOptions,
  isPayload,
  type OmniMessage,
} from "@coxswain/core";
import {
  fakeEnvironment,
  type FakeEnvironment,
  type FakeTool,
  ManualClock,
  MemoryTrace,
  startWireServer,
  type WireHandler,
  type WireServer,
} from "@coxswain/testing";
import { meta } from "../engine/support.ts";
import { contextFor } from "../llm/support/streams.ts";
import { atEnd } from "./support.ts";

export interface WireEngine {
  engine: ContextEngine;
  environment: FakeEnvironment;
  server: WireServer;
  clock: ManualClock;
  trace: MemoryTrace;
  /** When each request came, by the clock. */
  arrivals: number[];
}

interface WireEngineOptions {
  tools?: Record<string, FakeTool["run"]>;
  model?: Partial<GenerativeModelOptions>;
  engine?: Partial<ContextEngineOptions>;
}

export async function wireEngine(handler: WireHandler, options: WireEngineOptions = {}): Promise<WireEngine> {
  const clock = new ManualClock();
  const arrivals: number[] = [];
  const server = await startWireServer({
    handler: (request, index) => {
      arrivals.push(clock.now());
      return handler(request, index);
    },
  });
  atEnd(() => server.close());
  const openContext = () => contextFor("openai-chat", server.url, { clock, ...options.model });
  const [llm, next] = await Promise.all([openContext(), openContext()]);
  const environment = fakeEnvironment(options.tools ?? {});
  const trace = new MemoryTrace();
  trace.newest.push(meta);
  const engine = new ContextEngine({
    llm,
    createLLM: () => next,
    environment,
    trace,
    clock,
    sessionMeta: meta,
    ...options.engine,
  });
  return { engine, environment, server, clock, trace, arrivals };
}

/** Resolves once it is so; everything that is ready happens meanwhile. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await eventLoopTurn();
}

/** Time for what has been sent to arrive, if anything has. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 50; turn += 1) await eventLoopTurn();
}

export function eventLoopTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/** The texts of the messages that a request sent, the system prompt aside. */
export function sentTexts(server: WireServer, index: number): string[] {
  const body = server.requests[index]?.body as { messages: { role: string; content: unknown }[] } | undefined;
  if (body === undefined) throw new Error(`request ${index} did not come`);
  return body.messages.filter(({ role }) => role !== "system").map(({ content }) => wordsOf(content));
}

function wordsOf(content: unknown): string {
  return typeof content === "string" ? content : JSON.stringify(content);
}

export function announcedWaits(stream: readonly OmniMessage[]): number[] {
  return stream.flatMap((message) => (isPayload(message, "request_end") ? (message.payload.retry_in_ms ?? []) : []));
}
