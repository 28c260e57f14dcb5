/** Everything that a replay needs to know of a Trace before it begins. */
import {
  emptyTokenCounts,
  type EngineState,
  isPayload,
  isSessionMeta,
  type OmniMessage,
  readTokenCounts,
  type RecordedContext,
  type TokenCounts,
} from "@coxswain/core";
import { type Exchanges, findExchanges } from "./exchanges.ts";
import { findInterrupts, type RecordedInterrupt } from "./interrupts.ts";
import { inferLimits, type ReplayLimits } from "./limits.ts";
import { findProcesses, type ProcessSpan } from "./processes.ts";
import { isConnectEvent, isHarnessText, layOut, type RecordedTrace, type TraceRecord } from "./recorded-trace.ts";
import type { RecordedRun, Told } from "./recorded-runs.ts";
import { findRuns, owedAfter, type OwedBefore } from "./runs.ts";

export interface ProcessPlan {
  span: ProcessSpan;
  limits: ReplayLimits;
  exchanges: Exchanges;
  interrupts: RecordedInterrupt[];
  runs: RecordedRun[];
  told: ReadonlyMap<number, Told[]>;
  toldLate: ReadonlySet<number>;
}

export interface ReplayPlan {
  records: readonly TraceRecord[];
  meta: OmniMessage | undefined;
  /** Index of the first record that an engine wrote. */
  first: number;
  /** What the first process began with, when the Trace does not begin with its Session. */
  initialState: EngineState | undefined;
  processes: ProcessPlan[];
  setAside: string[];
  /** Why it cannot be played, in words. */
  obstacle: string | undefined;
  /** Lost records, in words, unless a process died there: then nobody went on from them, and it plays to the same. */
  damage: string | undefined;
}

export function planReplay(contexts: readonly RecordedContext[]): ReplayPlan {
  const trace = layOut(contexts);
  const { records, setAside } = trace;
  const meta = records[0]?.message;
  const plan: ReplayPlan = {
    records,
    meta,
    first: 1,
    initialState: undefined,
    processes: [],
    setAside,
    obstacle: undefined,
    damage: undefined,
  };
  if (meta === undefined || !isSessionMeta(meta)) {
    plan.obstacle = "it does not begin with the session_meta that says what Session it is of";
    return plan;
  }
  const opening = laterContext(records);
  if (opening !== undefined) {
    plan.first = 0;
    plan.initialState = opening;
  }
  const spans = findProcesses(records, plan.first, trace.gaps);
  plan.damage = damage(trace, spans);
  const owedBefore = owedFrom(records, plan.initialState);
  for (let left = spans; left.length > 0 && plan.obstacle === undefined; ) {
    const [span, ...others] = left as [ProcessSpan, ...ProcessSpan[]];
    const { process, obstacle, restart } = planProcess(records, span, owedBefore);
    if (
      restart === undefined ||
      restart === span.start ||
      unlisted(records, { ...span, start: restart }) !== undefined
    ) {
      plan.obstacle = obstacle;
      plan.processes.push(process);
      left = others;
    } else {
      left = [
        { ...span, end: restart },
        { ...span, start: restart, repairs: restart, areCut: false, isGuessed: false },
        ...others,
      ];
    }
  }
  const last = plan.processes.at(-1)?.runs.at(-1);
  if (trace.isTorn && last !== undefined && last.end === records.length) last.isCut = true;
  return plan;
}

function planProcess(
  records: readonly TraceRecord[],
  span: ProcessSpan,
  owedBefore: OwedBefore,
): { process: ProcessPlan; obstacle: string | undefined; restart: number | undefined } {
  const exchanges = findExchanges(records, span);
  const { runs, told, toldBefore, toldLate, obstacle, restart } = findRuns(records, span, exchanges, owedBefore);
  const interrupts = findInterrupts(records, span, exchanges).map((interrupt) =>
    toldBefore.has(interrupt.abort) ? { ...interrupt, undelivered: [] } : interrupt,
  );
  const limits = inferLimits(records, span, exchanges);
  return {
    process: { span, limits, exchanges, interrupts, runs, told, toldLate },
    obstacle: unlisted(records, span) ?? exchanges.obstacle ?? obstacle,
    restart,
  };
}

function damage({ records, gaps }: RecordedTrace, spans: readonly ProcessSpan[]): string | undefined {
  const isDeath = (gap: number): boolean =>
    gap === records.length ||
    spans.some(({ repairs, start, isGuessed }) => !isGuessed && (gap === repairs || gap === start));
  const gap = [...gaps].find((index) => !isDeath(index));
  if (gap === undefined) return undefined;
  return `a line ${gap === 0 ? "at its beginning" : `after ${records[gap - 1]?.place}`} cannot be read, so records are missing there`;
}

/** Older engines asked a model without having told what tools there are. */
function unlisted(records: readonly TraceRecord[], { start, end }: ProcessSpan): string | undefined {
  for (const { message, place } of records.slice(start, end)) {
    const isFailed = isPayload(message, "notice") && message.payload.code === "tools_unavailable";
    if (isFailed || isPayload(message, "tool_list_ready")) return undefined;
    if (!isPayload(message, "request_begin")) continue;
    return `${place} (request_begin) comes before any list of tools; an engine of today lists them first`;
  }
  return undefined;
}

/** The state in front of a context whose predecessors are not there: a compaction has just ended them. */
function laterContext(records: readonly TraceRecord[]): EngineState | undefined {
  let index = 1;
  while (isConnectEvent(records[index]?.message)) index += 1;
  const tools = records[index]?.message;
  if (tools === undefined || !isPayload(tools, "tool_list_ready")) return undefined;
  const summary = records[index + 1]?.message;
  return {
    meta: records[0]?.message ?? null,
    history: [],
    carryOver: [],
    ...(isHarnessText(summary) && summary !== undefined ? { pendingSummary: summary } : {}),
    sessionTurns: 0,
    sessionTokens: tokensBefore(records),
    lastRequestTotal: 0,
    fromCompaction: true,
  };
}

/** What the Session had used before its first count that is there. */
function tokensBefore(records: readonly TraceRecord[]): TokenCounts {
  for (const { message } of records) {
    if (!isPayload(message, "token_usage")) continue;
    const [session, request] = [readTokenCounts(message.payload.session), readTokenCounts(message.payload.request)];
    return {
      input: session.input - request.input,
      cache_read: session.cache_read - request.cache_read,
      cache_write: session.cache_write - request.cache_write,
      output: session.output - request.output,
      total: session.total - request.total,
    };
  }
  return emptyTokenCounts();
}

function owedFrom(records: readonly TraceRecord[], initial: EngineState | undefined): OwedBefore {
  return ({ context }) => {
    if (context === 0) return initial && { hasSummary: initial.pendingSummary !== undefined, owed: 0 };
    for (let before = context - 1; before >= 0; before -= 1) {
      const messages = records.filter((record) => record.context === before).map(({ message }) => message);
      const hasSpoken = messages.some(({ type }) => type === "model_msg");
      if (hasSpoken) return owedAfter(messages);
    }
    return undefined;
  };
}
