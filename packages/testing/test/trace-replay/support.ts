import {
  type CompactionSettings,
  ContextEngine,
  type EngineState,
  type EnvironmentInterface,
  isPayload,
  type LLMInterface,
  missingRecords,
  type OmniMessage,
  readTokenCounts,
  type RecordedContext,
  replayTrace,
  type RunOptions,
  sessionMeta,
  unwrittenInput,
} from "@coxswain/core";
import { ManualClock, MemoryTrace } from "../../src/index.ts";

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
  return contexts.map((messages, index) => ({
    context: index + 1,
    messages: [...messages],
    tornTail: false,
    skippedLines: [],
    gaps: [],
    ...(index === contexts.length - 1 ? last : {}),
  }));
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
  newest.push(...unwrittenInput(before, newest), ...missingRecords(newest, () => 0));
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
    initialState: resumed(trace),
    ...(maxTurns === undefined ? {} : { maxTurns }),
  });
  return { engine, trace };
}

/** Counts of the contexts before are told to a process whose own has none yet. */
function resumed({ contexts, newest }: MemoryTrace): EngineState {
  const state = replayTrace(newest);
  const usage = contexts.flat().findLast((message) => isPayload(message, "token_usage"));
  return usage === undefined ? state : { ...state, sessionTokens: readTokenCounts(usage.payload.session) };
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
