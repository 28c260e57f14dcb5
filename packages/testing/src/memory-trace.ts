/** A Trace in memory, which can refuse or hang. */
import type {
  OmniMessage,
  RecordedContext,
  SessionSummary,
  TraceContents,
  TraceSink,
  TraceStore,
} from "@coxswain/core";

export class MemoryTrace implements TraceSink {
  /** One array for each model context. */
  readonly contexts: OmniMessage[][] = [[]];
  /** Called before each write; a rejection refuses it, a pending promise holds it. */
  onWrite: ((message: OmniMessage) => Promise<void> | void) | undefined;

  get records(): OmniMessage[] {
    return this.contexts.flat();
  }

  get newest(): OmniMessage[] {
    return this.contexts.at(-1) ?? [];
  }

  async write(message: OmniMessage): Promise<void> {
    await this.onWrite?.(message);
    // As a file would keep it: later changes of the object do not reach it.
    this.newest.push(structuredClone(message));
  }

  rotate(): Promise<void> {
    this.contexts.push([]);
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }
}

/** What a store would give of these model contexts. */
export function recordedContexts(contexts: readonly OmniMessage[][]): RecordedContext[] {
  return contexts.map((messages, index) => ({
    context: index + 1,
    messages: [...messages],
    tornTail: false,
    skippedLines: [],
    gaps: [],
  }));
}

/** Traces by Session id; one writer each is not enforced. */
export class MemoryTraceStore implements TraceStore {
  readonly traces = new Map<string, MemoryTrace>();

  open(sessionId: string): Promise<MemoryTrace> {
    const trace = this.traces.get(sessionId) ?? new MemoryTrace();
    this.traces.set(sessionId, trace);
    return Promise.resolve(trace);
  }

  read(sessionId: string, options: { context?: number | "newest" } = {}): Promise<TraceContents> {
    const contexts = this.traces.get(sessionId)?.contexts ?? [];
    const { context = "newest" } = options;
    const messages = context === "newest" ? contexts.at(-1) : contexts[context - 1];
    if (messages === undefined) return Promise.reject(new Error(`there is no Session ${sessionId}`));
    return Promise.resolve({ messages: [...messages], tornTail: false, skippedLines: [] });
  }

  async *list(): AsyncIterable<SessionSummary> {
    for (const [sessionId, { records }] of this.traces) {
      const meta = records.find((record) => record.type === "session_meta");
      if (meta?.type !== "session_meta") continue;
      yield {
        sessionId,
        provider: meta.payload.provider,
        modelId: meta.payload.model_id,
        workspace: meta.payload.workspace,
        startedAt: meta.timestamp,
        lastActiveAt: records.at(-1)?.timestamp ?? meta.timestamp,
      };
    }
  }
}
