/** What happens in a simulated life, in order, as seen from outside of the engine. Invariants and totals read this alone. */
import type {
  CompactionMode,
  EngineState,
  GenerateParameters,
  LLMOutcome,
  OmniMessage,
  ToolCallPayload,
} from "@coxswain/core";

export type ToolCall = OmniMessage<ToolCallPayload>;

export type Interrupt = "signal" | "break" | "return while reading" | "signal before the run";

export type Observation =
  /** The schedule chose something. */
  | { at: "step"; number: number; label: string }
  | { at: "process"; number: number; compactionMode: CompactionMode; resumed: Resumption | undefined }
  | { at: "run"; kind: "run" | "compact"; input: readonly OmniMessage[] }
  /** A record's bytes are in the Trace. */
  | { at: "landed"; record: OmniMessage; file: number }
  /** The engine was told that a record is in the Trace, or that it is held back. */
  | { at: "settled"; record: OmniMessage; isKept: boolean; blocksEffects: boolean }
  | { at: "disk"; is: "failing" | "hanging" | "working" }
  | { at: "showed"; message: OmniMessage }
  | {
      at: "request";
      /** Counts the model contexts of a life. */
      context: number;
      /** A later context has been opened. */
      isStale: boolean;
      purpose: NonNullable<GenerateParameters["purpose"]>;
      history: readonly OmniMessage[];
      input: readonly OmniMessage[];
    }
  /** A message left the model; only complete ones are listed. */
  | { at: "said"; message: OmniMessage }
  | { at: "answered"; outcome: LLMOutcome | "threw" }
  | { at: "asked"; call: ToolCall }
  | { at: "decided"; toolCallId: string; answer: "allow" | "deny" | "throw" | "never" }
  /** The policy of the Environment refuses the call. */
  | { at: "vetoed"; toolCallId: string }
  | { at: "tool"; call: ToolCall; isVetoed?: boolean }
  | { at: "tool ends"; toolCallId: string; how: string }
  | { at: "steered"; mark: string; isAccepted: boolean; text?: string }
  /** Background work has ended. */
  | { at: "reported"; mark: string }
  /** The host was told of a report that the model has not got. */
  | { at: "told host"; mark: string; isIdle: boolean }
  | { at: "skipped wait" }
  | { at: "interrupted"; how: Interrupt }
  | { at: "ended"; end: RunEnd }
  | { at: "died"; tornTail: boolean; heldBack: number };

/** What a process begins with that takes up where another died. */
export interface Resumption {
  state: EngineState;
  /** Written on behalf of the dead one. */
  missing: readonly OmniMessage[];
  /** Records that were still missing once they were written. */
  stillMissing: readonly OmniMessage[];
}

export interface RunEnd {
  state: EngineState;
  /** Of the model's newest context, by itself. */
  modelHistory: readonly OmniMessage[];
  /** The newest context's records, when everything that was handed over has been kept. */
  records: readonly OmniMessage[] | undefined;
  /** Whether the reader saw the last message. */
  isReadToEnd: boolean;
  /** What should be gone and is not. */
  leftovers: readonly string[];
}

/** Takes down what happens. */
export interface Observer {
  add(seen: Observation): void;
}
