/** What the host did, in order: Tasks with their inputs, compactions by hand, steering, and where each ended. */
import {
  type BackgroundReport,
  isPayload,
  isSessionMeta,
  type OmniMessage,
  readSteering,
  replayTrace,
  steeringText,
} from "@coxswain/core";
import type { Exchanges, RecordedRequest } from "./exchanges.ts";
import { isInterrupt } from "./interrupts.ts";
import { findMaxTurns, maxTurnsIn } from "./limits.ts";
import type { ProcessSpan } from "./processes.ts";
import type { RecordedRun, RecordedRuns, Told } from "./recorded-runs.ts";
import {
  isConnectEvent,
  isHarnessText,
  isOutage,
  isUserInput,
  isUserSide,
  type TraceRecord,
} from "./recorded-trace.ts";

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
  readonly told = new Map<number, Told[]>();
  readonly toldBefore = new Set<number>();
  readonly toldLate = new Set<number>();
  /** The tools were listed; before that, what the Environment tells stands by itself. */
  #hasListed = false;
  obstacle: string | undefined;
  restart: number | undefined;
  readonly #records: readonly TraceRecord[];
  readonly #span: ProcessSpan;
  readonly #exchanges: Exchanges;
  readonly #owedBefore: OwedBefore;
  readonly #maxTurns: number;

  constructor(records: readonly TraceRecord[], span: ProcessSpan, exchanges: Exchanges, owedBefore: OwedBefore) {
    this.#records = records;
    this.#span = span;
    this.#exchanges = exchanges;
    this.#owedBefore = owedBefore;
    this.#maxTurns = findMaxTurns(records, span);
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
      index = this.#takeInput(start, run, start);
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
    const state = { isInRequest: false, isCompacting: false, hasStopped: false, isFinal: false, turns: 0 };
    for (let index = from; index < this.#span.end; index += 1) {
      const record = this.#records[index];
      if (record === undefined) break;
      const { message } = record;
      const { payload } = message;
      request = this.#exchanges.requests.get(index) ?? request;
      const isAtCap = this.#maxTurns >= 0 && state.turns >= this.#maxTurns;
      const mayEnd = !state.isInRequest && !state.isCompacting && (state.hasStopped || state.isFinal);
      switch (payload.type) {
        case "abort":
          // Of a run that failed; an interrupt gives back what came before it.
          // Nothing more is accepted when the last turn is over: somebody said it to another run.
          if (state.hasStopped && payload.undelivered !== undefined) return index;
          if (!isInterrupt(record)) this.#tell(index, payload.undelivered ?? []);
          return index + 1;
        case "request_begin":
          if (mayEnd) return index;
          state.isInRequest = true;
          state.isFinal &&= state.isCompacting;
          break;
        case "request_end":
          state.isInRequest = false;
          if (state.isCompacting) break;
          state.isFinal = payload.status === "completed" && request?.hasCalls !== true;
          if (payload.status === "completed") state.turns += 1;
          break;
        case "compaction_begin":
          if (mayEnd && payload.reason === "manual") return index;
          state.isCompacting = true;
          break;
        case "compaction_end":
          state.isCompacting = false;
          run.isCut = payload.status === "aborted" && !this.#isInterruptAt(index + 1);
          if (run.isCut) return index + 1;
          if (run.kind === "compaction") {
            return this.#isInterruptAt(index + 1) ? index + 2 : index + 1;
          }
          break;
        case "tool_list_ready":
          if (mayEnd) return index;
          break;
        case undefined: {
          if (mayEnd && (state.hasStopped || !this.#isSteeringOnly(index, isAtCap))) return index;
          index = this.#takeOpening(index, run, "steering") - 1;
          state.isFinal = false;
          break;
        }
        default:
          if (!state.isInRequest && isMaxTurnsReached(message)) {
            if (mayEnd) return index;
            state.hasStopped = true;
          }
          if (!isUserInput(message) && this.#reportAt(index, state.isCompacting) === undefined) break;
          if (mayEnd && (state.hasStopped || !this.#isSteered(index, isAtCap))) return index;
          index = this.#takeTold(index, index, this.#at(index - 1)?.payload.type === "compaction_end") - 1;
          state.isFinal = false;
      }
      if (this.obstacle !== undefined) return index;
    }
    const isOver = !state.isInRequest && !state.isCompacting && (state.hasStopped || state.isFinal);
    run.isCut = !isOver;
    return this.#span.end;
  }

  #isInterruptAt(index: number): boolean {
    const record = this.#records[index];
    return record !== undefined && index < this.#span.end && isInterrupt(record);
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
    for (let left = before.owed; left > 0 && isUserSide(this.#at(index)); left -= 1) index += 1;
    if (rest === "input") return this.#takeInput(index, run, meta);
    if (this.#isInterruptAt(index)) this.#tellBefore(index, meta);
    return this.#takeTold(index, meta);
  }

  /** What has ended before, then what the person says. */
  #takeInput(from: number, run: RecordedRun, toldAt: number): number {
    let index = from;
    for (let report = this.#reportAt(index); report !== undefined; report = this.#reportAt(index)) {
      if (index > from && this.#isLater(index)) return index;
      this.#tell(toldAt, [report]);
      index += 1;
    }
    for (; isUserInput(this.#at(index)); index += 1) {
      if (index > from && this.#isLater(index) && steeringIn(this.#at(index)) !== undefined) return index;
      run.input.push(this.#at(index) as OmniMessage);
    }
    return index;
  }

  /** Not together with what stands before it: what is handed over in one piece is refused with its last record. */
  #isLater(index: number): boolean {
    return this.#records[index - 1]?.notices.some(({ message }) => isOutage(message)) === true;
  }

  /** What stands together was delivered together, so it must have been said before the first of it was written. */
  #takeTold(from: number, toldAt: number, isLate = false): number {
    if (isLate) this.toldLate.add(toldAt);
    let [index, at, hasSteering] = [from, toldAt, false];
    for (; ; index += 1) {
      const report = this.#reportAt(index);
      // Reports come first in what is delivered together.
      if (index > from && (this.#isLater(index) || (report !== undefined && hasSteering))) at = index;
      if (report !== undefined) this.#tell(at, [report]);
      else if (isUserInput(this.#at(index))) this.#steer(index, at);
      else return index;
      hasSteering = report === undefined;
      if (this.obstacle !== undefined) return index;
    }
  }

  /** An interrupt that stands where only steering can have led. */
  #tellBefore(abort: number, toldAt: number): void {
    const payload = this.#at(abort)?.payload;
    if (payload?.type !== "abort" || payload.undelivered === undefined) return;
    this.#tell(toldAt, payload.undelivered);
    this.toldBefore.add(abort);
  }

  #takeTools(from: number, run: RecordedRun): number {
    let index = from;
    while (isConnectEvent(this.#at(index))) index += 1;
    const message = this.#at(index);
    const isListed = message !== undefined && isPayload(message, "tool_list_ready");
    // Notices alone belong to something else, unless the list follows, or is missing.
    if (!isListed && this.#hasListed && !this.#hasConnected(from, index)) return from;
    for (let at = from; at < index; at += 1) {
      const event = this.#at(at);
      if (event === undefined) continue;
      if (isPayload(event, "notice") && event.payload.code === "tools_unavailable") {
        run.toolsProblem = event.payload.message.replace(/^no tool can be used: /, "");
      } else run.connecting.push({ index: at, message: event });
    }
    if (!isListed) return index;
    this.#hasListed = true;
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
    if (record === undefined) return false;
    const { message } = record;
    return message.payload.type === "request_begin" || isInterrupt(record) || isMaxTurnsReached(message);
  }

  /** Whether all that is new in the context is what a running Task was told. */
  #isSteeringOnly(meta: number, isAtCap: boolean): boolean {
    const record = this.#records[meta];
    const before = record === undefined ? undefined : this.#owedBefore(record);
    let index = meta + 1;
    while (isConnectEvent(this.#at(index)) || this.#at(index)?.payload.type === "tool_list_ready") index += 1;
    if (before?.hasSummary === true && isHarnessText(this.#at(index))) index += 1;
    for (let left = before?.owed ?? 0; left > 0 && isUserSide(this.#at(index)); left -= 1) index += 1;
    return this.#isSteered(index, isAtCap);
  }

  /** Whether steering is delivered here, with what else has come; or was about to be. At its cap a Task stops after it. */
  #isSteered(from: number, isAtCap: boolean): boolean {
    let index = from;
    while (this.#reportAt(index) !== undefined) index += 1;
    const message = this.#at(index);
    // A report alone keeps no Task going, but may begin one.
    if (message !== undefined && isPayload(message, "abort")) {
      return index === from && message.payload.undelivered !== undefined;
    }
    if (!isUserInput(message)) return false;
    for (; isUserInput(this.#at(index)); index += 1) if (steeringIn(this.#at(index)) === undefined) return false;
    const next = this.#at(index);
    return !isAtCap || next === undefined || !isPayload(next, "request_begin");
  }

  /** A text of ours that stands in no place of another is a report, also where its process died before it said so. */
  #reportAt(index: number, isCompacting = false): BackgroundReport | undefined {
    const message = this.#at(index);
    if (message?.payload.type !== "text" || !isHarnessText(message) || isCompacting) return undefined;
    const { report } = this.#records[index] ?? {};
    return report ?? (index + 1 === this.#span.end ? { text: message.payload.text, summary: "" } : undefined);
  }

  #steer(index: number, toldAt: number): void {
    const text = steeringIn(this.#at(index));
    if (text === undefined) {
      this.restart = this.#at(toldAt)?.type === "session_meta" ? toldAt : index;
      return this.#refuse(index, "is a user's message in the middle of a Task, and no steering of this engine");
    }
    this.#tell(toldAt, [text]);
  }

  #tell(toldAt: number, told: readonly Told[]): void {
    this.told.set(toldAt, [...(this.told.get(toldAt) ?? []), ...told]);
  }

  #at(index: number): OmniMessage | undefined {
    return index < this.#span.end ? this.#records[index]?.message : undefined;
  }

  #refuse(index: number, why: string): void {
    const record = this.#records[index];
    this.obstacle ??= `${record?.place} (${record?.message.payload.type ?? "session_meta"}) ${why}`;
  }
}

/** A Task that stops at its cap: one that may have no turn at all says so at once. */
function isMaxTurnsReached({ payload }: OmniMessage): boolean {
  return payload.type === "text" && payload.role === "assistant" && maxTurnsIn(payload.text) !== undefined;
}

/** The person's words, when the text is exactly what this engine would have made of them. */
function steeringIn(message: OmniMessage | undefined): string | undefined {
  if (message?.payload.type !== "text" || message.payload.sender !== undefined) return undefined;
  const words = readSteering(message.payload.text);
  return words !== undefined && steeringText(words) === message.payload.text ? words : undefined;
}
