import {
  type ApproveFn,
  ContextEngine,
  type ContextEngineOptions,
  type EngineState,
  isPartial,
  type OmniMessage,
  replayTrace,
  sessionMeta,
  userText,
} from "@coxswain/core";
import {
  type FakeEnvironment,
  fakeEnvironment,
  type FakeTool,
  ManualClock,
  MemoryTrace,
  scriptedLLM,
  type ScriptedLLM,
  type ScriptedStep,
} from "@coxswain/testing";
import { expect } from "vitest";

export const meta = sessionMeta({
  session_id: "session-2026-01-01-00-00-00-00000000",
  provider: "test",
  model_id: "test",
  model_context_window: 0,
  system_prompt: "",
  agent_state: "/state",
  workspace: "/workspace",
});

export interface Bench {
  engine: ContextEngine;
  llm: ScriptedLLM;
  environment: FakeEnvironment;
  trace: MemoryTrace;
  clock: ManualClock;
}

export function setUp(
  steps: readonly ScriptedStep[],
  tools: Record<string, FakeTool["run"] | FakeTool> = {},
  options: Partial<ContextEngineOptions> & { forbids?: (call: OmniMessage) => string | undefined } = {},
): Bench {
  const llm = scriptedLLM(steps);
  const { forbids, ...engineOptions } = options;
  const environment = fakeEnvironment(tools, forbids === undefined ? {} : { forbids });
  const trace = new MemoryTrace();
  trace.newest.push(meta);
  const clock = new ManualClock();
  const engine = new ContextEngine({ llm, environment, trace, clock, sessionMeta: meta, ...engineOptions });
  return { engine, llm, environment, trace, clock };
}

export const allow: ApproveFn = () => Promise.resolve("allow");

export async function collect(stream: AsyncIterable<OmniMessage>): Promise<OmniMessage[]> {
  const messages: OmniMessage[] = [];
  for await (const message of stream) messages.push(message);
  return messages;
}

export function ask(text: string): OmniMessage[] {
  return [userText(text)];
}

/** One word or two for each message: what a reader needs to see an order. */
export function outline(messages: readonly OmniMessage[]): string[] {
  return messages.filter((message) => !isPartial(message)).map(describeMessage);
}

export function describeMessage(message: OmniMessage): string {
  const payload = message.payload;
  const ending = "stop_reason" in payload && payload.stop_reason !== undefined ? ` (${payload.stop_reason})` : "";
  switch (payload.type) {
    case undefined:
      return "session_meta";
    case "text":
      return `${payload.role}: ${payload.text}${ending}`;
    case "thinking":
      return `thinking: ${payload.thinking}${ending}`;
    case "tool_call":
      return `call ${payload.tool_call_id} ${payload.name}${ending}`;
    case "tool_call_output":
      return `output ${payload.tool_call_id}: ${payload.output}${ending}`;
    case "approval_decision":
      return `${payload.decision} ${payload.tool_call_id}`;
    case "request_end":
      return `request_end ${payload.status}${payload.retry_in_ms === undefined ? "" : ` retry in ${payload.retry_in_ms}`}`;
    case "compaction_end":
      return `compaction_end ${payload.status}`;
    case "abort":
      return `abort${payload.reason == null ? "" : ` ${payload.reason}`}${payload.undelivered === undefined ? "" : ` undelivered ${payload.undelivered.join(", ")}`}`;
    default:
      return payload.type;
  }
}

function withoutTimes(state: EngineState): unknown {
  return JSON.parse(JSON.stringify(state, (key, value: unknown) => (key === "timestamp" ? undefined : value)));
}

/** Without timestamps, which a resumed engine sets anew. */
export function sent(messages: readonly OmniMessage[]): unknown[] {
  return messages.map(({ payload }) => payload);
}

/**
 * What must hold of every stream and Trace: segments are closed, brackets pair up, the Trace is the stream and the
 * inputs, each request's calls have their outputs next to them in order, and the live state is the replayed one.
 */
export function expectSound(bench: Bench, stream: readonly OmniMessage[]): void {
  expectClosed(stream);
  expectBrackets(bench.trace.records);
  expectOneOrder(stream, bench.trace.records);
  const state = replayTrace(bench.trace.newest);
  expect(withoutTimes(state)).toEqual(withoutTimes(bench.engine.state));
  expectPaired([...state.history, ...state.carryOver]);
}

export function expectPaired(context: readonly OmniMessage[]): void {
  let owed: string[] = [];
  for (const { payload } of context) {
    if (payload.type === "tool_call") owed.push(payload.tool_call_id);
    else if (payload.type === "tool_call_output") expect(payload.tool_call_id).toBe(owed.shift());
    else if ("role" in payload && payload.role === "user") {
      expect(owed).toEqual([]);
      owed = [];
    }
  }
  expect(owed).toEqual([]);
}

function expectClosed(stream: readonly OmniMessage[]): void {
  const open = new Map<string, string>();
  for (const { payload } of stream) {
    if (payload.type === undefined) continue;
    if (payload.type.startsWith("partial_") && "event_type" in payload) {
      const key = `${payload.type.slice("partial_".length)} ${"tool_call_id" in payload ? payload.tool_call_id : ""}`;
      if (payload.event_type === "start") {
        expect(open.has(key)).toBe(false);
        open.set(key, "");
      } else {
        expect(open.has(key)).toBe(true);
        open.set(key, `${open.get(key)}${textOf(payload)}`);
      }
    } else if (["text", "thinking", "tool_call", "tool_call_output"].includes(payload.type)) {
      const key = `${payload.type} ${"tool_call_id" in payload ? payload.tool_call_id : ""}`;
      if (open.has(key) && payload.type !== "tool_call_output") expect(textOf(payload)).toBe(open.get(key));
      open.delete(key);
    }
  }
  expect([...open.keys()]).toEqual([]);
}

function textOf(payload: OmniMessage["payload"]): string {
  if ("text" in payload) return payload.text;
  if ("thinking" in payload) return payload.thinking;
  if ("arguments" in payload) return payload.arguments;
  return "output" in payload && typeof payload.output === "string" ? payload.output : "";
}

function expectBrackets(records: readonly OmniMessage[]): void {
  let inRequest = false;
  let inCompaction = false;
  for (const { payload } of records) {
    if (payload.type === "request_begin" || payload.type === "request_end") {
      expect(inRequest).toBe(payload.type === "request_end");
      inRequest = !inRequest;
    } else if (payload.type === "compaction_begin" || payload.type === "compaction_end") {
      expect(inRequest).toBe(false);
      expect(inCompaction).toBe(payload.type === "compaction_end");
      inCompaction = !inCompaction;
    }
  }
  expect([inRequest, inCompaction]).toEqual([false, false]);
}

/** The Trace without inputs and our own words is what the readers saw, fragments and children aside. */
function expectOneOrder(stream: readonly OmniMessage[], records: readonly OmniMessage[]): void {
  const shown = stream.filter((message) => !isPartial(message) && message.origin === undefined);
  const written = records.filter(({ payload }) => !isUserSide(payload) && payload.type !== undefined);
  expect(written).toEqual(shown.filter(({ payload }) => !isUserSide(payload) && payload.type !== undefined));
}

function isUserSide(payload: OmniMessage["payload"]): boolean {
  return "role" in payload && payload.role === "user" && payload.type !== "tool_call_output";
}
