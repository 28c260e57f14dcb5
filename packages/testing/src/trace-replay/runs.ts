/** What the host did, in order: Tasks with their inputs, compactions by hand, steering, and where each ended. */
import {
  isPayload,
  isSessionMeta,
  type OmniMessage,
  readSteering,
  replayTrace,
  steeringText,
  type ToolDefinition,
} from "@coxswain/core";
import type { Exchanges, Line, RecordedRequest } from "./exchanges.ts";
import { isInterrupt } from "./interrupts.ts";
import { maxTurnsIn } from "./limits.ts";
import type { ProcessSpan } from "./processes.ts";
import { isConnectEvent, isHarnessText, isUserInput, type TraceRecord } from "./recorded-trace.ts";

export interface RecordedRun {
  kind: "task" | "compaction";
  start: number;
  /** Index of the first record after it. */
  end: number;
  input: OmniMessage[];
  /** What the Environment told while it connected. */
  connecting: Line[];
  tools: ToolDefinition[] | undefined;
  /** Why the tools could not be listed. */
  toolsProblem: string | undefined;
  /** Its process died before it could end. */
  isCut: boolean;
}

export interface RecordedRuns {
  runs: RecordedRun[];
  /** Texts by the index of the record in front of which the engine was told them. */
  steering: Map<number, string[]>;
  obstacle: string | undefined;
}

/** What an engine would have at the end of the context before. */
export type OwedBefore = (record: TraceRecord) => { hasSummary: boolean; owed: number } | undefined;

export function findRuns(
  records: readonly TraceRecord[],
  span: ProcessSpan,
  exchanges: Exchanges,
  owedBefore: OwedBefore,
): RecordedRuns {
  const finder = new RunFinder(records, span, exchanges, owedBefore);
  for (let index = span.start; index < span.end && finder.obstacle === undefined; ) index = finder.takeRun(index);
  return finder;
}

/** How many messages of ours open the context that follows these records. */
export function owedAfter(messages: readonly OmniMessage[]): { hasSummary: boolean; owed: number } | undefined {
  const { fromCompaction, pendingSummary, carryOver } = replayTrace(messages);
  return fromCompaction ? { hasSummary: pendingSummary !== undefined, owed: carryOver.length } : undefined;
}

class RunFinder implements RecordedRuns {
  readonly runs: RecordedRun[] = [];
  readonly steering = new Map<number, string[]>();
  obstacle: string | undefined;
  readonly #records: readonly TraceRecord[];
  readonly #span: ProcessSpan;
  readonly #exchanges: Exchanges;
  readonly #owedBefore: OwedBefore;

  constructor(records: readonly TraceRecord[], span: ProcessSpan, exchanges: Exchanges, owedBefore: OwedBefore) {
    this.#records = records;
    this.#span = span;
    this.#exchanges = exchanges;
    this.#owedBefore = owedBefore;
  }

  /** @returns Where the next one begins. */
  takeRun(start: number): number {
    const run: RecordedRun = {
      kind: "task",
      start,
      end: start,
      input: [],
      connecting: [],
      tools: undefined,
      toolsProblem: undefined,
      isCut: false,
    };
    let index = start;
    const first = this.#at(start);
    if (first !== undefined && isSessionMeta(first)) index = this.#takeOpening(start, run, "input");
    else {
      for (; isUserInput(this.#at(index)); index += 1) run.input.push(this.#at(index) as OmniMessage);
      index = this.#takeTools(index, run);
      if (run.input.length === 0 && this.#isManualCompaction(index)) run.kind = "compaction";
    }
    if (run.kind === "task" && index === start && !this.#mayBegin(start)) {
      this.#refuse(start, "stands where a run or a compaction would begin");
      return start;
    }
    run.end = this.#findEnd(index, run);
    this.runs.push(run);
    return run.end;
  }

  #findEnd(from: number, run: RecordedRun): number {
    let request: RecordedRequest | undefined;
    const state = { isInRequest: false, isCompacting: false, hasStopped: false, isFinal: false };
    for (let index = from; index < this.#span.end; index += 1) {
      const record = this.#records[index];
      if (record === undefined) break;
      const { message } = record;
      const { payload } = message;
      request = this.#exchanges.requests.get(index) ?? request;
      const mayEnd = !state.isInRequest && !state.isCompacting && (state.hasStopped || state.isFinal);
      switch (payload.type) {
        case "abort":
          // Of a run that failed; an interrupt gives back what came before it.
          if (!isInterrupt(record) && payload.undelivered !== undefined) this.steering.set(index, payload.undelivered);
          return index + 1;
        case "request_begin":
          if (mayEnd) return index;
          state.isInRequest = true;
          state.isFinal &&= state.isCompacting;
          break;
        case "request_end":
          state.isInRequest = false;
          if (!state.isCompacting) state.isFinal = payload.status === "completed" && request?.hasCalls !== true;
          break;
        case "compaction_begin":
          if (mayEnd && payload.reason === "manual") return index;
          state.isCompacting = true;
          break;
        case "compaction_end":
          state.isCompacting = false;
          if (run.kind === "compaction") {
            const next = this.#records[index + 1];
            return next !== undefined && index + 1 < this.#span.end && isInterrupt(next) ? index + 2 : index + 1;
          }
          break;
        case "tool_list_ready":
          if (mayEnd) return index;
          break;
        case undefined: {
          const after = mayEnd && (state.hasStopped || !this.#isSteeringOnly(index)) ? "end" : "go on";
          if (after === "end") return index;
          index = this.#takeOpening(index, run, "steering") - 1;
          state.isFinal = false;
          break;
        }
        default:
          if (payload.type === "text" && payload.role === "assistant" && !state.isInRequest) {
            state.hasStopped ||= maxTurnsIn(payload.text) !== undefined;
          }
          if (!isUserInput(message)) break;
          if (mayEnd && (state.hasStopped || steeringIn(message) === undefined)) return index;
          this.#steer(index, index);
          state.isFinal = false;
      }
      if (this.obstacle !== undefined) return index;
    }
    const isOver = !state.isInRequest && !state.isCompacting && (state.hasStopped || state.isFinal);
    run.isCut = !isOver;
    return this.#span.end;
  }

  /** A new context: its meta, the tools, the summary, what was owed, and what is new. @returns The index after it. */
  #takeOpening(meta: number, run: RecordedRun, rest: "input" | "steering"): number {
    const record = this.#records[meta];
    const before = record === undefined ? undefined : this.#owedBefore(record);
    if (before === undefined) {
      this.#refuse(meta, "opens a context, and the one before did not end in a compaction");
      return this.#span.end;
    }
    let index = this.#takeTools(meta + 1, run);
    if (before.hasSummary && isHarnessText(this.#at(index))) index += 1;
    for (let left = before.owed; left > 0 && this.#isUserSide(index); left -= 1) index += 1;
    for (; isUserInput(this.#at(index)); index += 1) {
      if (rest === "input") run.input.push(this.#at(index) as OmniMessage);
      else this.#steer(index, meta);
    }
    return index;
  }

  #takeTools(from: number, run: RecordedRun): number {
    let index = from;
    while (isConnectEvent(this.#at(index))) index += 1;
    const message = this.#at(index);
    const isListed = message !== undefined && isPayload(message, "tool_list_ready");
    // Notices alone belong to something else, unless the list follows.
    if (!isListed && !this.#hasConnected(from, index)) return from;
    for (let at = from; at < index; at += 1) {
      const event = this.#at(at);
      if (event === undefined) continue;
      if (isPayload(event, "notice") && event.payload.code === "tools_unavailable") {
        run.toolsProblem = event.payload.message.replace(/^no tool can be used: /, "");
      } else run.connecting.push({ index: at, message: event });
    }
    if (!isListed) return index;
    run.tools = message.payload.tools;
    return index + 1;
  }

  #hasConnected(from: number, to: number): boolean {
    return this.#records.slice(from, to).some(({ message }) => message.payload.type !== "notice");
  }

  #isManualCompaction(index: number): boolean {
    const message = this.#at(index);
    return message !== undefined && isPayload(message, "compaction_begin") && message.payload.reason === "manual";
  }

  /** Without an input: what is owed is sent, or an interrupt came before anything else. */
  #mayBegin(index: number): boolean {
    const record = this.#records[index];
    return record !== undefined && (record.message.payload.type === "request_begin" || isInterrupt(record));
  }

  /** Whether all that is new in the context is what a running Task was told. */
  #isSteeringOnly(meta: number): boolean {
    let index = meta + 1;
    while (
      index < this.#span.end &&
      !isUserInput(this.#at(index)) &&
      this.#at(index)?.payload.type !== "request_begin"
    ) {
      index += 1;
    }
    if (!isUserInput(this.#at(index))) return false;
    for (; isUserInput(this.#at(index)); index += 1) if (steeringIn(this.#at(index)) === undefined) return false;
    return true;
  }

  #isUserSide(index: number): boolean {
    const message = this.#at(index);
    return message?.payload.type === "tool_call_output" || isUserInput(message) || isHarnessText(message);
  }

  #steer(index: number, toldAt: number): void {
    const text = steeringIn(this.#at(index));
    if (text === undefined)
      return this.#refuse(index, "is a user's message in the middle of a Task, and no steering of this engine");
    this.steering.set(toldAt, [...(this.steering.get(toldAt) ?? []), text]);
  }

  #at(index: number): OmniMessage | undefined {
    return index < this.#span.end ? this.#records[index]?.message : undefined;
  }

  #refuse(index: number, why: string): void {
    const record = this.#records[index];
    this.obstacle ??= `${record?.place} (${record?.message.payload.type ?? "session_meta"}) ${why}`;
  }
}

/** The person's words, when the text is exactly what this engine would have made of them. */
function steeringIn(message: OmniMessage | undefined): string | undefined {
  if (message?.payload.type !== "text" || message.payload.sender !== undefined) return undefined;
  const words = readSteering(message.payload.text);
  return words !== undefined && steeringText(words) === message.payload.text ? words : undefined;
}
