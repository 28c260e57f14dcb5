/**
 * The one fold over the records: what was committed, what is owed, and what the next request must carry. The live
 * engine applies each record once it is in the Trace; resume applies the same records from a file.
 */
import {
  addTokenCounts,
  contextSummaryText,
  emptyTokenCounts,
  extractSummary,
  isPayload,
  type OmniMessage,
  readTokenCounts,
  type TokenCounts,
  type ToolCallOutputPayload,
  type ToolCallPayload,
} from "@coxswain/protocol";
import { harnessText, isWholeCall, type MissingOutputReason, pairOutputs, processExitedReason } from "./carry-over.ts";
import { OpenTurn } from "./open-turn.ts";
import type { EngineState } from "./ports.ts";

interface OpenCompaction {
  summarizes: boolean;
  inRequest: boolean;
  /** Texts of the newest request. */
  reply: string[];
  timestamp: string;
}

/** What a Trace lacks when its process died: see `missingRecords`. */
export interface Unfinished {
  request: boolean;
  compaction: boolean;
  task: boolean;
}

export class Ledger {
  #meta: OmniMessage | null = null;
  #history: OmniMessage[] = [];
  #carry: OmniMessage[] = [];
  /** Of the newest committed turn. */
  #calls: OmniMessage<ToolCallPayload>[] = [];
  #outputs = new Map<string, OmniMessage<ToolCallOutputPayload>>();
  /** User-side messages that wait for their request. */
  #staged: OmniMessage[] = [];
  #turn: OpenTurn | undefined;
  #committedInRequest = false;
  #compaction: OpenCompaction | undefined;
  #pendingSummary: OmniMessage | undefined;
  #sessionTurns = 0;
  #sessionTokens: TokenCounts = emptyTokenCounts();
  #lastRequestTotal = 0;
  #fromCompaction = false;
  /** The newest record is the `session_meta` of a context. */
  #atContextStart = false;
  #begunByCompaction = false;
  #firstRequestTotal: number | undefined;

  constructor(initial?: EngineState) {
    if (initial === undefined) return;
    this.#meta = initial.meta;
    this.#history = [...initial.history];
    this.#carry = [...initial.carryOver];
    this.#pendingSummary = initial.pendingSummary;
    this.#sessionTurns = initial.sessionTurns;
    this.#sessionTokens = { ...initial.sessionTokens };
    this.#lastRequestTotal = initial.lastRequestTotal;
    this.#fromCompaction = initial.fromCompaction;
    this.#firstRequestTotal = initial.firstRequestTotal;
    this.#begunByCompaction = initial.firstRequestTotal !== undefined;
  }

  /** Calls of the newest committed turn that wait for their outputs, or have them and were not sent yet. */
  get hasCalls(): boolean {
    return this.#calls.length > 0;
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
    return this.#lastRequestTotal;
  }

  get firstRequestTotal(): number | undefined {
    return this.#firstRequestTotal;
  }

  get fromCompaction(): boolean {
    return this.#fromCompaction;
  }

  get pendingSummary(): OmniMessage | undefined {
    return this.#pendingSummary;
  }

  get hasCommittedTurns(): boolean {
    return this.#history.length > 0;
  }

  /** Whether a request would carry anything. */
  get owesInput(): boolean {
    return this.#carry.length > 0 || this.#calls.length > 0 || this.#staged.length > 0;
  }

  /** The input of the request whose `request_begin` was applied last. */
  requestInput(): OmniMessage[] {
    return this.#turn?.sent ?? [];
  }

  /** What a turn that began now would carry. */
  owedInput(reason: MissingOutputReason = "process exited"): OmniMessage[] {
    return [...this.#carry, ...pairOutputs(this.#calls, this.#outputs, reason), ...this.#staged];
  }

  apply(record: OmniMessage): void {
    if (record.origin !== undefined) return;
    if (record.type === "session_meta") return this.#beginContext(record);
    const payload = record.payload;
    if (this.#compaction !== undefined && this.#applyInCompaction(record, this.#compaction)) return;
    const atContextStart = this.#atContextStart;
    this.#atContextStart = false;
    switch (payload.type) {
      case "text":
        if (payload.role === "user") this.#staged.push(record);
        else this.#turn?.say(record);
        return;
      case "image_url":
        this.#staged.push(record);
        return;
      case "inline_data":
        if (payload.role === "user") this.#staged.push(record);
        else this.#turn?.say(record);
        return;
      case "thinking":
      case "inline_thinking":
      case "tool_call":
        this.#turn?.say(record);
        return;
      case "tool_call_output":
        return this.#applyOutput(record as OmniMessage<ToolCallOutputPayload>);
      case "request_begin":
        return this.#beginRequest(record.timestamp);
      case "request_end":
        return this.#endRequest(payload.status === "completed", payload.retry_in_ms !== undefined);
      case "token_usage":
        this.#countTokens(payload.session);
        if (this.#turn?.isInRequest === true) this.#commit(readTokenCounts(payload.request).total);
        return;
      case "abort":
        return this.#abort(record.timestamp, payload.reason === processExitedReason ? "process exited" : "interrupted");
      case "compaction_begin":
        this.#beginCompaction(payload.mode === "summarize", record.timestamp);
        return;
      case "tool_list_ready":
        if (atContextStart) this.#begunByCompaction = true;
        return;
      default:
        return;
    }
  }

  /** As a resume would take it up: what still runs counts as lost with the process. */
  state(): EngineState {
    return {
      meta: this.#meta,
      history: [...this.#history],
      carryOver: [
        ...this.#carry,
        ...pairOutputs(this.#calls, this.#outputs, "process exited"),
        ...(this.#turn?.carryOver(this.#turn.sent.at(-1)?.timestamp ?? "") ?? []),
        ...this.#staged,
      ],
      sessionTurns: this.#sessionTurns,
      sessionTokens: { ...this.#sessionTokens },
      lastRequestTotal: this.#lastRequestTotal,
      fromCompaction: this.#fromCompaction,
      ...(this.#pendingSummary === undefined ? {} : { pendingSummary: this.#pendingSummary }),
      ...(this.#firstRequestTotal === undefined ? {} : { firstRequestTotal: this.#firstRequestTotal }),
    };
  }

  unfinished(): Unfinished {
    const request = this.#compaction?.inRequest ?? (this.#turn?.isInRequest === true || this.#committedInRequest);
    const compaction = this.#compaction !== undefined;
    return { request, compaction, task: request || compaction || this.#turn !== undefined || this.#calls.length > 0 };
  }

  #beginContext(meta: OmniMessage): void {
    this.#meta = meta;
    this.#history = [];
    this.#carry = [];
    this.#calls = [];
    this.#outputs = new Map();
    this.#staged = [];
    this.#turn = undefined;
    this.#committedInRequest = false;
    this.#compaction = undefined;
    this.#begunByCompaction = this.#fromCompaction;
    this.#pendingSummary = undefined;
    this.#fromCompaction = false;
    this.#lastRequestTotal = 0;
    this.#firstRequestTotal = undefined;
    this.#atContextStart = true;
  }

  #beginRequest(timestamp: string): void {
    if (this.#turn?.awaitsRetry === true) {
      this.#turn.retry(this.#staged, timestamp);
      this.#staged = [];
      return;
    }
    // Another process goes on without having said that this turn died.
    this.#stopTurn(timestamp);
    this.#turn = new OpenTurn(this.owedInput());
    this.#carry = [];
    this.#clearCalls();
    this.#staged = [];
    this.#committedInRequest = false;
  }

  #endRequest(completed: boolean, goesOn: boolean): void {
    this.#committedInRequest = false;
    if (this.#turn?.isInRequest !== true) return;
    if (completed) this.#commit(undefined);
    else this.#turn.fail(goesOn);
  }

  #commit(total: number | undefined): void {
    const turn = this.#turn;
    if (turn === undefined) return;
    for (const message of turn.sent) this.#history.push(message);
    this.#calls = turn.said.filter(isWholeCall);
    for (const message of turn.said) {
      if (isPayload(message, "tool_call_output")) this.#outputs.set(message.payload.tool_call_id, message);
      else if (message.payload.type !== "tool_call" || isWholeCall(message)) this.#history.push(message);
    }
    this.#turn = undefined;
    this.#committedInRequest = total !== undefined;
    this.#sessionTurns += 1;
    if (total === undefined) return;
    this.#lastRequestTotal = total;
    if (this.#begunByCompaction) this.#firstRequestTotal ??= total;
  }

  #applyOutput(record: OmniMessage<ToolCallOutputPayload>): void {
    const id = record.payload.tool_call_id;
    if (this.#turn?.takeOutput(record) === true) return;
    // The first output of a call stands; one that comes after its placeholder was sent is too late.
    if (this.#outputs.has(id) || !this.#calls.some((call) => call.payload.tool_call_id === id)) return;
    this.#outputs.set(id, record);
  }

  #abort(timestamp: string, reason: MissingOutputReason): void {
    this.#carry = [...this.#carry, ...pairOutputs(this.#calls, this.#outputs, reason)];
    this.#clearCalls();
    this.#committedInRequest = false;
    this.#stopTurn(timestamp);
  }

  #stopTurn(timestamp: string): void {
    if (this.#turn === undefined) return;
    this.#carry = [...this.#carry, ...this.#turn.carryOver(timestamp)];
    this.#turn = undefined;
  }

  #clearCalls(): void {
    this.#calls = [];
    this.#outputs = new Map();
  }

  #countTokens(session: TokenCounts): void {
    this.#sessionTokens = readTokenCounts(session);
  }

  #beginCompaction(summarizes: boolean, timestamp: string): void {
    this.#compaction = { summarizes, inRequest: false, reply: [], timestamp };
  }

  /** Whether the record belongs to the compaction; one that cannot says that the compaction was never closed. */
  #applyInCompaction(record: OmniMessage, compaction: OpenCompaction): boolean {
    const payload = record.payload;
    switch (payload.type) {
      case "request_begin":
        compaction.inRequest = true;
        compaction.reply = [];
        return true;
      case "request_end":
        compaction.inRequest = false;
        return true;
      case "token_usage":
        this.#countTokens(payload.session);
        return true;
      case "compaction_end":
        this.#compaction = undefined;
        if (payload.status === "completed") this.#completeCompaction(compaction, record.timestamp);
        return true;
      case "text":
        if (payload.role === "user" && payload.sender !== "harness") break;
        if (payload.role === "assistant") compaction.reply.push(payload.text);
        return true;
      case "thinking":
      case "inline_thinking":
      case "tool_call":
      case "notice":
        return true;
      default:
        break;
    }
    this.#compaction = undefined;
    return false;
  }

  #completeCompaction(compaction: OpenCompaction, timestamp: string): void {
    const summary = compaction.summarizes ? extractSummary(compaction.reply.join("\n\n")) : undefined;
    // A turn that the provider refused for its size was never answered: what the person asked is still owed.
    const refused = this.#turn?.input.filter((message) => !isPayload(message, "tool_call_output")) ?? [];
    this.#pendingSummary = summary === undefined ? undefined : harnessText(contextSummaryText(summary), timestamp);
    this.#history = [];
    this.#carry = refused;
    this.#clearCalls();
    this.#turn = undefined;
    this.#sessionTurns = 0;
    this.#lastRequestTotal = 0;
    this.#firstRequestTotal = undefined;
    this.#fromCompaction = true;
  }
}

/** Tokens of a request on top of the Session's. */
export function withRequest(ledger: Ledger, request: TokenCounts): { session: TokenCounts; request: TokenCounts } {
  return { session: addTokenCounts(ledger.sessionTokens, request), request };
}
