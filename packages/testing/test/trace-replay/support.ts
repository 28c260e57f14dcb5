import {
  type CompactionSettings,
  ContextEngine,
  type EnvironmentInterface,
  type LLMInterface,
  newestUsage,
  type OmniMessage,
  type RecordedContext,
  type RunOptions,
  sessionMeta,
  takeUp,
} from "@coxswain/core";
import { ManualClock, MemoryTrace, recordedContexts } from "../../src/index.ts";

export const meta = sessionMeta({
  session_id: "session-2026-01-01-00-00-00-00000000",
  provider: "test",
  model_id: "test",
  model_context_window: 0,
  system_prompt: "",
  agent_state: "/state",
  workspace: "/workspace",
});

export const allow: RunOptions["approve"] = () => Promise.resolve("allow");

/** What a store would give of these model contexts. */
export function recorded(contexts: readonly OmniMessage[][], last: Partial<RecordedContext> = {}): RecordedContext[] {
  return recordedContexts(contexts).map((context, index, all) =>
    index === all.length - 1 ? { ...context, ...last } : context,
  );
}

export interface ProcessOptions {
  llm: LLMInterface;
  nextLlm?: LLMInterface | undefined;
  environment: EnvironmentInterface;
  /** Records of a process before; they are gone on from. Default: a new Session. */
  contexts?: readonly OmniMessage[][] | undefined;
  compaction?: CompactionSettings | undefined;
  maxTurns?: number | undefined;
}

/** A process with an engine, and the Trace that it writes. Waits pass by themselves. */
export function startProcess(options: ProcessOptions): { engine: ContextEngine; trace: MemoryTrace } {
  const { llm, nextLlm = llm, environment, contexts = [[meta]], compaction, maxTurns } = options;
  const trace = new MemoryTrace();
  trace.contexts.splice(0, 1, ...contexts.map((messages) => [...messages]));
  const newest = trace.newest;
  const [before = []] = trace.contexts.slice(-2, -1);
  // Counts of the contexts before are told to a process whose own has none yet.
  const { missing, state } = takeUp(newest, { before, usageBefore: newestUsage(contexts), now: () => 0 });
  newest.push(...missing);
  const clock = new ManualClock();
  clock.sleep = () => Promise.resolve();
  const engine = new ContextEngine({
    llm,
    createLLM: () => nextLlm,
    environment,
    trace,
    clock,
    compaction,
    sessionMeta: meta,
    initialState: state,
    ...(maxTurns === undefined ? {} : { maxTurns }),
  });
  return { engine, trace };
}

export async function collect(
  stream: AsyncIterable<OmniMessage>,
  onMessage?: (message: OmniMessage) => void,
): Promise<OmniMessage[]> {
  const messages: OmniMessage[] = [];
  for await (const message of stream) {
    messages.push(message);
    onMessage?.(message);
  }
  return messages;
}
