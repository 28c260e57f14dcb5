/** What a Task or a compaction works with: the parts of its engine, and what is its own. */
import type {
  Builders,
  CompactionMode,
  CompactionReason,
  OmniMessage,
  ThinkingLevelName,
  TokenCounts,
  ToolDefinition,
} from "@coxswain/protocol";
import type { Inbox } from "./inbox.ts";
import type { Interruption } from "./interruption.ts";
import type { Ledger } from "./ledger.ts";
import type { Outbox } from "./outbox.ts";
import type { ApproveFn, Clock, CompactionSettings, EnvironmentInterface, LLMInterface } from "./ports.ts";
import type { Recorder } from "./recorder.ts";
import type { Reports } from "./reports.ts";
import type { ReconnectWait } from "./wait.ts";

export interface EngineLimits {
  /** -1: no cap. */
  maxTurns: number;
  maxReconnects: number;
  compactionMaxReconnects: number;
  reconnectBackoffMs: number;
  reconnectBackoffMaxMs: number;
}

export interface CompactionParts {
  settings: CompactionSettings;
  /** Opens the model context that follows. */
  createLLM: (sessionTokens: TokenCounts) => LLMInterface;
}

/** One engine's parts, over all its runs. */
export interface EngineParts {
  /** The newest model context's; absent when that could not be opened yet. */
  llm: LLMInterface | undefined;
  readonly environment: EnvironmentInterface;
  readonly clock: Clock;
  readonly build: Builders;
  readonly ledger: Ledger;
  readonly recorder: Recorder;
  readonly inbox: Inbox;
  readonly reports: Reports;
  readonly wait: ReconnectWait;
  readonly limits: EngineLimits;
  /** Absent: contexts are never compacted. */
  readonly compaction: CompactionParts | undefined;
  readonly knownChildren: Set<string>;
  /** Known from the first run of the process on. */
  tools: ToolDefinition[] | undefined;
  /** The notice that context compaction is off has been given for this context. */
  hasToldCompactionIsOff: boolean;
}

/** The request that is open now. */
export interface OpenRequest {
  /** Its usage has been recorded: whatever comes now, it counts as completed. */
  isCommitted: boolean;
  /** Reading has stopped: at the outcome, or at the first message after an interrupt. */
  readonly stopped: Promise<unknown>;
  /** Nothing more is taken from the model. */
  abandon(): void;
}

export interface Run {
  readonly activity: "running" | "compacting";
  readonly parts: EngineParts;
  readonly outbox: Outbox;
  readonly interruption: Interruption;
  readonly approve: ApproveFn | undefined;
  readonly thinkingLevel: ThinkingLevelName | undefined;
  request: OpenRequest | undefined;
  compacting: { reason: CompactionReason; mode: CompactionMode } | undefined;
  /** Steering that an interrupt found undelivered. */
  undelivered: string[];
}

/** @throws Interrupted once it is written. */
export async function record(run: Run, message: OmniMessage, options?: { isShown?: boolean }): Promise<void> {
  await run.parts.recorder.record(message, options);
  run.interruption.check();
}
