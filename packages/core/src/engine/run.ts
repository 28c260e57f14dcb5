/** What a Task or a compaction works with: the parts of its engine, and what is its own. */
import type {
  Builders,
  CompactionMode,
  CompactionReason,
  OmniMessage,
  ThinkingLevelName,
  ToolDefinition,
} from "@coxswain/protocol";
import { steeringText } from "@coxswain/protocol";
import type { Inbox } from "./inbox.ts";
import type { Interruption } from "./interruption.ts";
import type { Ledger } from "./ledger.ts";
import type { Outbox } from "./outbox.ts";
import type { ApproveFn, Clock, CompactionSettings, EnvironmentInterface, LLMInterface, TraceSink } from "./ports.ts";
import type { Recorder } from "./recorder.ts";
import type { TokenCounts } from "@coxswain/protocol";
import type { ReconnectWait } from "./wait.ts";

export interface EngineLimits {
  /** -1: no cap. */
  maxTurns: number;
  maxReconnects: number;
  compactionMaxReconnects: number;
  reconnectBackoffMs: number;
  reconnectBackoffMaxMs: number;
}

/** One engine's parts, over all its runs. */
export interface EngineParts {
  /** The newest model context's. */
  llm: LLMInterface;
  readonly createLLM: ((sessionTokens: TokenCounts) => LLMInterface) | undefined;
  readonly environment: EnvironmentInterface;
  readonly trace: TraceSink | undefined;
  readonly clock: Clock;
  readonly build: Builders;
  readonly ledger: Ledger;
  readonly recorder: Recorder;
  readonly inbox: Inbox;
  readonly wait: ReconnectWait;
  readonly limits: EngineLimits;
  readonly compaction: CompactionSettings | undefined;
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

/** Waits until the reader has reacted to everything he was shown, then writes what was said meanwhile. */
export async function deliverSteering(run: Run): Promise<void> {
  await run.interruption.until(run.outbox.drained());
  const { inbox, recorder, build } = run.parts;
  // Together: an interrupt in the middle must not lose the rest.
  await Promise.all(inbox.drain().map((text) => recorder.record(build.userText(steeringText(text)))));
  run.interruption.check();
}
