/**
 * The doors out of the engine, with their contracts. Nothing in `engine/` touches a clock, a disk, a process or the
 * network in any other way.
 */
import type {
  CompactionMode,
  OmniMessage,
  StopReason,
  ThinkingLevelName,
  TokenCounts,
  ToolCallPayload,
  ToolDefinition,
  ToolPermission,
} from "@coxswain/protocol";

/**
 * Decides one tool call. Called once per complete call, one call at a time, in call order. A throw or a rejection
 * counts as `deny`. After an interrupt its late answer is ignored.
 */
export type ApproveFn = (toolCall: OmniMessage<ToolCallPayload>) => Promise<"allow" | "deny">;

export interface RunOptions {
  /** Interrupts the Task; `run` then returns within 50 ms, with an `abort` event as its last message. */
  signal?: AbortSignal | undefined;
  /** Without it every call is denied. */
  approve?: ApproveFn | undefined;
  thinkingLevel?: ThinkingLevelName | undefined;
}

export interface GenerateParameters {
  /** What is new since the last committed request; history is the model's own. */
  newMessages: OmniMessage[];
  tools?: ToolDefinition[] | undefined;
  /** `summary`: the same tools are declared, none may be called, and the request never enters history. Default `turn`. */
  purpose?: "turn" | "summary" | undefined;
  signal?: AbortSignal | undefined;
  thinkingLevel?: ThinkingLevelName | undefined;
}

/** How a request ended. */
export interface LLMOutcome {
  status: StopReason;
  /** In words that a person can act on. */
  errorMessage?: string;
  finishReason?: string;
  /** The provider's own word. */
  finishReasonRaw?: string;
  /** Of a request that was not completed, if the provider told. */
  usage?: TokenCounts;
  /** The wait that the provider asked for, in milliseconds. */
  retryAfterMs?: number;
  /** The provider said that the input does not fit. */
  contextOverflow?: boolean;
}

/**
 * One model context. Owns its history.
 *
 * Never throws and never retries: failure is an outcome. A request is committed (its input and its output become
 * history) or leaves history as it was. `token_usage` is the last message of a completed request and says that it is
 * committed. After its signal it never commits. Every fragment it opens it closes, with the complete message after it.
 * Call ids are unique in the context: a repeated id becomes `<id>~<n>`.
 */
export interface LLMInterface {
  streamGenerate(parameters: GenerateParameters): AsyncGenerator<OmniMessage, LLMOutcome>;
}

/** What a person sees of a call before he decides. */
export interface Preview {
  summary: string;
  diff?: string;
  command?: string;
  workdir?: string;
}

export interface ExecuteToolRequest {
  toolCall: OmniMessage<ToolCallPayload>;
  signal?: AbortSignal | undefined;
  approve?: ApproveFn | undefined;
}

/** Work that outlived its call has ended. */
export interface BackgroundReport {
  /** For the model: what ended, how, and what it said since it was last asked. */
  text: string;
  /** For a person, in one line. */
  summary: string;
}

/** Where tools run. */
export interface EnvironmentInterface {
  /** Connects what needs connecting; before `listTools`, at the first run or compact of a process. */
  connect?(signal?: AbortSignal): AsyncGenerator<OmniMessage>;
  listTools(): Promise<ToolDefinition[]>;
  /**
   * Runs one call: any number of `partial_tool_call_output`, then exactly one complete `tool_call_output`. Never throws;
   * whatever goes wrong is the output. Settles promptly after its signal.
   */
  executeTool(request: ExecuteToolRequest): AsyncGenerator<OmniMessage>;
  /** The name of the policy rule that forbids the call; asked before `approve`. */
  forbids?(toolCall: OmniMessage<ToolCallPayload>): string | undefined;
  preview?(toolCall: OmniMessage<ToolCallPayload>): Promise<Preview | undefined>;
  toolPermission(name: string): ToolPermission | undefined;
  /**
   * Tells each report once, in the order in which things end, also while no call runs. Work whose end a call has told
   * already is not reported.
   *
   * @returns Stops it.
   */
  onReport?(listener: (report: BackgroundReport) => void): () => void;
  dispose?(): void | Promise<void>;
}

/**
 * Appends records. Never given partials or messages with `origin`. `write` resolves when the record is kept (as
 * durable as the store promises); it rejects when the record is not on disk, once the sink has taken what care it can.
 * A rejection with `blocksEffects: true` says that nothing may be done on the strength of this record: the engine writes
 * the same object again until it is kept.
 */
export interface TraceSink {
  write(message: OmniMessage): Promise<void>;
  /** Several records at once, where that is cheaper; `undefined` when they are kept already. Calls of either never overlap. */
  writeAll?(messages: readonly OmniMessage[]): Promise<void> | undefined;
  /** The next write opens the next model context. */
  rotate(): Promise<void>;
}

export interface SessionSummary {
  sessionId: string;
  title?: string;
  provider: string;
  modelId: string;
  workspace: string;
  /** ISO 8601. */
  startedAt: string;
  lastActiveAt: string;
}

export interface TraceContents {
  messages: OmniMessage[];
  /** The last line was cut and has been dropped. */
  tornTail: boolean;
  /** 1-based numbers of unreadable lines elsewhere. */
  skippedLines: number[];
  /** Newest `session` counts of the contexts before this one, when this one has none. */
  usageBefore?: TokenCounts;
}

/** A model context as it was recorded. */
export interface RecordedContext extends TraceContents {
  /** 1-based index in its Session. */
  context: number;
  /** For each skipped line, the index of the message in front of which it stood. */
  gaps: number[];
}

/** Where Traces live. Files by default. */
export interface TraceStore {
  /** One writer at a time; a second one is refused with an error that says who holds it. */
  open(sessionId: string): Promise<TraceSink & { close(): Promise<void> }>;
  /** @param options.context 1-based index of a model context. Default `newest`. */
  read(sessionId: string, options?: { context?: number | "newest" }): Promise<TraceContents>;
  list(): AsyncIterable<SessionSummary>;
  /** Indices of a Session's contexts, oldest first. Without it, contexts are read from 1 on until one is missing. */
  contexts?(sessionId: string): Promise<number[]>;
}

/** Every wait and every timestamp. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
  /** Resolves after `ms`, or at once when the signal fires. */
  sleep(ms: number, signal?: AbortSignal): Promise<void>;
}

export interface CompactionSettings {
  /** Tokens: a `token_usage.request.total` at or above it calls for a compaction. 0 or less: never. */
  maxContextLength: number;
  /** Turns since the last compaction. 0 or less: no limit. */
  maxSessionTurns: number;
  mode: CompactionMode;
  prompt: string;
}

/** What the records of one model context amount to: the same fold live and on resume. */
export interface EngineState {
  meta: OmniMessage | null;
  /** Committed turns, as they were sent and answered. */
  history: OmniMessage[];
  /** What the next request must carry in front of its input. */
  carryOver: OmniMessage[];
  /** The `[context_summary]` that opens the next context. */
  pendingSummary?: OmniMessage;
  /** Completed turns since the last compaction. */
  sessionTurns: number;
  sessionTokens: TokenCounts;
  /** Tokens in the context after the last request; 0 when not known yet. */
  lastRequestTotal: number;
  /** The records end in a completed compaction: the next input opens a new context. */
  fromCompaction: boolean;
  /** Of a context that a compaction began; 0 until its first request is measured. */
  firstRequestTotal?: number;
}
