/** What the ledger knows of a model context, and what ends with it. */
import type { OmniMessage, ToolCallOutputPayload } from "@coxswain/protocol";
import { Calls } from "./calls.ts";
import { isWholeCall } from "./carry-over.ts";
import type { OpenTurn } from "./open-turn.ts";

export interface Context {
  history: OmniMessage[];
  carry: OmniMessage[];
  /** Of the newest committed turn; with their outputs so far. */
  calls: Calls;
  outputs: Map<string, OmniMessage<ToolCallOutputPayload>>;
  /** User-side messages that wait for their request. */
  staged: OmniMessage[];
  turn: OpenTurn | undefined;
  /** The turn is committed, its `request_end` not yet there. */
  isBetweenUsageAndEnd: boolean;
  /** The run ended in order although something is owed: it came to its last turn. */
  hasStopped: boolean;
  lastRequestTotal: number;
  /** Of a context that a compaction began; 0 until its first request is measured. */
  firstRequestTotal: number | undefined;
}

export function newContext(): Context {
  return {
    history: [],
    carry: [],
    calls: new Calls(),
    outputs: new Map(),
    hasStopped: false,
    staged: [],
    turn: undefined,
    isBetweenUsageAndEnd: false,
    lastRequestTotal: 0,
    firstRequestTotal: undefined,
  };
}

/** Of the turn that was committed last: nothing else is asked before its calls have their outputs. */
export function sayLate({ calls, history }: Context, record: OmniMessage): void {
  if (record.payload.type !== "tool_call") history.push(record);
  const call = isWholeCall(record) ? calls.add(record) : undefined;
  if (call !== undefined) history.push(call);
}
