/**
 * The one fold over the records: what was committed, what is owed, and what the next request must carry. The live
 * engine applies each record once it is in the Trace; resume applies the same records from a file.
 */
import {
  addTokenCounts,
  contextSummaryText,
  emptyTokenCounts,
  isPayload,
  type OmniMessage,
  readContextSummary,
  readTokenCounts,
  type TokenCounts,
  type ToolCallOutputPayload,
} from "@coxswain/protocol";
import {
  harnessText,
  isCut,
  isLastWord,
  isWholeCall,
  type MissingOutputReason,
  pairOutputs,
  processExitedReason,
} from "./carry-over.ts";
import { Calls } from "./calls.ts";
import { newContext, sayLate } from "./model-context.ts";
import { OpenCompaction } from "./open-compaction.ts";
import { OpenTurn } from "./open-turn.ts";
import type { EngineState } from "./ports.ts";

/** What a Trace lacks when its process died: see `missingRecords`. */
export interface Unfinished {
  request: boolean;
  compaction: boolean;
  task: boolean;
}

export class Ledger {
  #meta: OmniMessage | null = null;
  #context = newContext();
  #compaction: OpenCompaction | undefined;
  #pendingSummary: OmniMessage | undefined;
  #fromCompaction = false;
  #sessionTurns = 0;
  #sessionTokens: TokenCounts = emptyTokenCounts();

  constructor(initial?: EngineState) {
    if (initial === undefined) return;
    this.#meta = initial.meta;
    this.#context.history = [...initial.history];
    this.#context.carry = [...initial.carryOver];
    this.#context.lastRequestTotal = initial.lastRequestTotal;
    this.#context.firstRequestTotal = initial.firstRequestTotal;
    this.#pendingSummary = initial.pendingSummary;
    this.#fromCompaction = initial.fromCompaction;
    this.#sessionTurns = initial.sessionTurns;
    this.#sessionTokens = { ...initial.sessionTokens };
  }

  get meta(): OmniMessage | null {
    return this.#meta;
  }

  get sessionTokens(): TokenCounts {
    return this.#sessionTokens;
  }

  get sessionTurns(): number {
    return this.#sessionTurns;
  }

  get lastRequestTotal(): number {
    return this.#context.lastRequestTotal;
  }

  get firstRequestTotal(): number | undefined {
    return this.#context.firstRequestTotal;
  }

  get fromCompaction(): boolean {
    return this.#fromCompaction;
  }

  get pendingSummary(): OmniMessage | undefined {
    return this.#pendingSummary;
  }

  get hasCommittedTurns(): boolean {
    return this.#context.history.length > 0;
  }

  /** Calls of the newest committed turn, which have not been answered for yet. */
  get hasCalls(): boolean {
    return this.#context.calls.list.length > 0;
  }

  /** Whether a request would carry anything. */
  get owesInput(): boolean {
    const { carry, calls, staged } = this.#context;
    return carry.length > 0 || calls.list.length > 0 || staged.length > 0;
  }

  /** The input of the request whose `request_begin` was applied last. */
  requestInput(): OmniMessage[] {
    return this.#context.turn?.sent ?? [];
  }

  /** A turn has begun with a request, and is neither committed nor stopped. */
  get isTurnOpen(): boolean {
    return this.#context.turn?.isImplied === false;
  }

  /** What a turn that began now would carry. */
  owedInput(): OmniMessage[] {
    return [...this.#owedBefore("process exited"), ...this.#context.staged];
  }

  apply(record: OmniMessage): void {
    if (record.origin !== undefined) return;
    if (record.type === "session_meta") return this.#beginContext(record);
    const payload = record.payload;
    if (this.#compaction !== undefined && this.#applyInCompaction(record, this.#compaction)) return;
    switch (payload.type) {
      case "text":
      case "inline_data":
      case "image_url":
        if (payload.role === "user") this.#stage(record);
        else this.#say(record);
        return;
      case "thinking":
      case "inline_thinking":
      case "tool_call":
        return this.#say(record);
      case "tool_call_output":
        return this.#applyOutput(record as OmniMessage<ToolCallOutputPayload>);
      case "request_begin":
        return this.#beginRequest(record.timestamp);
      case "request_end":
        return this.#endRequest(payload.status === "completed", payload.retry_in_ms !== undefined);
      case "token_usage":
        this.#sessionTokens = readTokenCounts(payload.session);
        if (this.#context.turn?.isInRequest === true) this.#commit(readTokenCounts(payload.request).total);
        return;
      case "abort":
        return this.#abort(
          record.timestamp,
          payload.reason === processExitedReason ? processExitedReason : "interrupted",
        );
      case "compaction_begin":
        this.endImpliedTurn();
        this.#compaction = new OpenCompaction(payload.mode === "summarize");
        return;
      case "tool_list_ready":
        // Written before any input only where a compaction has begun the context.
        this.#noteCompactionBefore();
        return;
      default:
        return;
    }
  }

  /** As a resume would take it up: what still runs counts as lost with the process. */
  state(): EngineState {
    const { history, lastRequestTotal, firstRequestTotal, staged, turn } = this.#context;
    const stopped = turn?.carryOver(turn.sent.at(-1)?.timestamp ?? "") ?? [];
    return {
      meta: this.#meta,
      history: [...history],
      carryOver: [...this.#owedBefore("process exited"), ...stopped, ...staged],
      sessionTurns: this.#sessionTurns,
      sessionTokens: { ...this.#sessionTokens },
      lastRequestTotal,
      fromCompaction: this.#fromCompaction,
      ...(this.#pendingSummary === undefined ? {} : { pendingSummary: this.#pendingSummary }),
      ...(firstRequestTotal === undefined ? {} : { firstRequestTotal }),
    };
  }

  unfinished(): Unfinished {
    const { turn, calls, isBetweenUsageAndEnd, hasStopped } = this.#context;
    const request = this.#compaction?.isInRequest ?? (turn?.isInRequest === true || isBetweenUsageAndEnd);
    const compaction = this.#compaction !== undefined;
    const task = request || compaction || turn !== undefined || (calls.list.length > 0 && !hasStopped);
    return { request, compaction, task };
  }

  /** A turn without requests of its own has ended where something comes that cannot be in one, or nothing more. */
  endImpliedTurn(): void {
    const { turn } = this.#context;
    if (turn?.isImplied === true && turn.isInRequest) this.#commit(undefined);
  }

  #owedBefore(reason: MissingOutputReason): OmniMessage[] {
    const { carry, calls, outputs } = this.#context;
    return [...carry, ...pairOutputs(calls.list, outputs, reason)];
  }

  /** Only a compaction ends a context: a line that stands twice ends nothing. */
  #beginContext(meta: OmniMessage): void {
    this.#meta ??= meta;
    if (!this.#fromCompaction) return;
    this.#meta = meta;
    this.#context = newContext();
    this.#compaction = undefined;
    this.#pendingSummary = undefined;
    this.#fromCompaction = false;
  }

  #stage(record: OmniMessage): void {
    this.endImpliedTurn();
    const { payload } = record;
    // Also where an interrupt or a death has left out the tools.
    const isSummary =
      payload.type === "text" && payload.sender === "harness" && readContextSummary(payload.text) !== undefined;
    if (isSummary) this.#noteCompactionBefore();
    this.#context.staged.push(record);
  }

  /** The record is what only a compaction puts in front of all else. */
  #noteCompactionBefore(): void {
    if (this.hasCommittedTurns || this.owesInput || this.#context.turn !== undefined) return;
    this.#context.firstRequestTotal ??= 0;
  }

  /**
   * What a model says. Outside of a request it means that a line cannot be read, or that the writer wrote no requests:
   * whoever does not know of a call makes it again.
   */
  #say(record: OmniMessage): void {
    const context = this.#context;
    if (context.turn?.isInRequest === true && !context.turn.isOver) return context.turn.say(record);
    if (context.turn?.isInRequest !== true) {
      if (isLastWord(record)) {
        context.hasStopped = true;
        return;
      }
      // The model's context has no more than what it had told when it committed.
      if (context.isBetweenUsageAndEnd && isCut(record)) return;
      if (context.isBetweenUsageAndEnd || context.calls.hasUnanswered) return sayLate(context, record);
      if (isWholeCall(record) && context.calls.has(record)) return;
    }
    this.#beginRequest(record.timestamp, true);
    context.turn?.say(record);
  }

  #beginRequest(timestamp: string, isImplied = false): void {
    const context = this.#context;
    if (context.turn?.isOver === true) this.endImpliedTurn();
    if (context.turn?.awaitsRetry === true) {
      context.turn.retry(context.staged, timestamp);
    } else {
      // A turn that is still open died with its process, and another goes on without having said so.
      this.#stopTurn(timestamp);
      context.turn = new OpenTurn(this.owedInput(), isImplied);
      context.carry = [];
      this.#clearCalls();
    }
    context.staged = [];
    context.isBetweenUsageAndEnd = false;
    context.hasStopped = false;
  }

  #endRequest(isCompleted: boolean, goesOn: boolean): void {
    const context = this.#context;
    context.isBetweenUsageAndEnd = false;
    if (context.turn?.isInRequest !== true) return;
    if (isCompleted) this.#commit(undefined);
    else context.turn.fail(goesOn);
  }

  /** @param total Tokens, when the provider told. */
  #commit(total: number | undefined): void {
    const context = this.#context;
    const turn = context.turn;
    if (turn === undefined) return;
    for (const message of turn.sent) context.history.push(message);
    context.calls = turn.calls;
    for (const message of turn.said) {
      if (isPayload(message, "tool_call_output")) context.outputs.set(message.payload.tool_call_id, message);
      else if (message.payload.type !== "tool_call" || isWholeCall(message)) context.history.push(message);
    }
    context.turn = undefined;
    this.#sessionTurns += 1;
    if (total === undefined) return;
    context.isBetweenUsageAndEnd = true;
    context.lastRequestTotal = total;
    if (context.firstRequestTotal === 0) context.firstRequestTotal = total;
  }

  #applyOutput(record: OmniMessage<ToolCallOutputPayload>): void {
    if (this.#context.turn?.takeOutput(record) !== true) this.#answer(record);
  }

  /** The first output of a call stands; one that comes after its placeholder was sent is too late. */
  #answer(record: OmniMessage<ToolCallOutputPayload>): void {
    const { calls, outputs } = this.#context;
    const output = calls.answer(record);
    if (output !== undefined) outputs.set(output.payload.tool_call_id, output);
  }

  #abort(timestamp: string, reason: MissingOutputReason): void {
    this.endImpliedTurn();
    this.#context.carry = this.#owedBefore(reason);
    this.#context.isBetweenUsageAndEnd = false;
    this.#clearCalls();
    this.#stopTurn(timestamp);
  }

  #stopTurn(timestamp: string): void {
    const context = this.#context;
    if (context.turn === undefined) return;
    context.carry = [...context.carry, ...context.turn.carryOver(timestamp)];
    context.turn = undefined;
  }

  #clearCalls(): void {
    this.#context.calls = new Calls();
    this.#context.outputs = new Map();
  }

  /** Whether the record belongs to the compaction; one that cannot says that the compaction was never closed. */
  #applyInCompaction(record: OmniMessage, compaction: OpenCompaction): boolean {
    const { payload } = record;
    if (payload.type === "token_usage") {
      this.#sessionTokens = readTokenCounts(payload.session);
      return true;
    }
    if (payload.type !== "compaction_end" && compaction.take(record)) return true;
    this.#compaction = undefined;
    if (payload.type !== "compaction_end") return false;
    if (payload.status === "completed") this.#completeCompaction(compaction.summary, record.timestamp);
    return true;
  }

  #completeCompaction(summary: string | undefined, timestamp: string): void {
    // A turn that the provider refused for its size was never answered: what the person asked is still owed.
    const refused = this.#context.turn?.refused(timestamp) ?? [];
    this.#pendingSummary = summary === undefined ? undefined : harnessText(contextSummaryText(summary), timestamp);
    this.#context = { ...newContext(), carry: refused };
    this.#sessionTurns = 0;
    this.#fromCompaction = true;
  }
}

/** Tokens of a request on top of the Session's. */
export function withRequest(ledger: Ledger, request: TokenCounts): { session: TokenCounts; request: TokenCounts } {
  return { session: addTokenCounts(ledger.sessionTokens, request), request };
}
