/** The settings of the engine that wrote a Trace, as far as the records show them. */
import { type CompactionSettings, engineDefaults, isPayload } from "@coxswain/core";
import type { Exchanges, RecordedRequest } from "./exchanges.ts";
import type { ProcessSpan } from "./processes.ts";
import { isHarnessText, isUserSide, type TraceRecord } from "./recorded-trace.ts";

export interface ReplayLimits {
  /** -1: no cap. */
  maxTurns: number;
  maxReconnects: number;
  compactionMaxReconnects: number;
  reconnectBackoffMs: number;
  reconnectBackoffMaxMs: number;
  compaction: CompactionSettings | undefined;
}

export function inferLimits(records: readonly TraceRecord[], span: ProcessSpan, exchanges: Exchanges): ReplayLimits {
  const requests = [...exchanges.requests.values()];
  const turns = requests.filter(({ purpose }) => purpose === "turn");
  const summaries = requests.filter(({ purpose }) => purpose === "summary");
  return {
    maxTurns: findMaxTurns(records, span),
    maxReconnects: findMaxReconnects(turns, engineDefaults.maxReconnects),
    compactionMaxReconnects: findMaxReconnects(summaries, engineDefaults.compactionMaxReconnects),
    ...findBackoff(requests),
    compaction: findCompaction(records, span, exchanges),
  };
}

/** @returns -1 when no run stopped at its cap. */
export function findMaxTurns(records: readonly TraceRecord[], { start, end }: ProcessSpan): number {
  for (const { message } of records.slice(start, end)) {
    const turns = maxTurnsIn(message.payload.type === "text" ? message.payload.text : "");
    if (turns !== undefined) return turns;
  }
  return -1;
}

/** Of the words with which a run stops at its cap. */
export function maxTurnsIn(text: string): number | undefined {
  const found = /^\[reached max turns \((\d+)\); stopping\]$/.exec(text)?.[1];
  return found === undefined ? undefined : Number(found);
}

function findMaxReconnects(requests: readonly RecordedRequest[], usual: number): number {
  let found = usual;
  let emptyReplies = 0;
  for (const { attempt, end, purpose } of requests) {
    if (attempt === 1) emptyReplies = 0;
    if (end === undefined) continue;
    const { retry_in_ms: retry, error_message: words = "", finish_reason: finishReason, status } = end.payload;
    if (retry !== undefined) found = Math.max(found, attempt);
    const isLast = status === "failed" && words.startsWith(`gave up after ${attempt} attempts: `);
    // Empty answers of a turn have a limit of their own.
    const mayBeEmpty = finishReason !== undefined && purpose === "turn";
    if (isLast && !(mayBeEmpty && emptyReplies >= engineDefaults.maxEmptyReplies)) return attempt - 1;
    if (status === "malformed" && finishReason !== undefined) emptyReplies += 1;
  }
  return found;
}

function findBackoff(
  requests: readonly RecordedRequest[],
): Pick<ReplayLimits, "reconnectBackoffMs" | "reconnectBackoffMaxMs"> {
  let reconnectBackoffMs: number = engineDefaults.reconnectBackoffMs;
  let reconnectBackoffMaxMs: number = engineDefaults.reconnectBackoffMaxMs;
  for (const { attempt, end } of requests) {
    const waitMs = end?.payload.retry_in_ms;
    if (waitMs === undefined) continue;
    const expected = Math.min(reconnectBackoffMs * 2 ** (attempt - 1), reconnectBackoffMaxMs);
    if (waitMs < expected) reconnectBackoffMs = waitMs / 2 ** (attempt - 1);
    reconnectBackoffMaxMs = Math.max(reconnectBackoffMaxMs, waitMs);
  }
  return { reconnectBackoffMs, reconnectBackoffMaxMs };
}

/** Absent when nothing was compacted: an engine that cannot is then the same. */
function findCompaction(
  records: readonly TraceRecord[],
  { start, end }: ProcessSpan,
  exchanges: Exchanges,
): CompactionSettings | undefined {
  let settings: CompactionSettings | undefined;
  const overflows = new Set(overflowCompactions(records, exchanges));
  for (let index = start; index < end; index += 1) {
    const message = records[index]?.message;
    if (message === undefined) continue;
    if (isPayload(message, "notice") && message.payload.code === "compaction_off") {
      const limit = Number(/max_context_length \((\d+)\)/.exec(message.payload.message)?.[1]);
      // The compaction that did not help may have been another process's.
      settings ??= { maxContextLength: 0, maxSessionTurns: -1, mode: modeBefore(records, index), prompt: "" };
      if (limit > 0) settings.maxContextLength = limit;
    }
    // Interrupted before it began, and nothing else can have been.
    const isAll = !isUserSide(records[index - 1]?.message) && records[index + 1]?.message.payload.type === "abort";
    if (isPayload(message, "tool_list_ready") && isAll) {
      settings ??= { maxContextLength: 0, maxSessionTurns: -1, mode: modeBefore(records, index), prompt: "" };
    }
    if (!isPayload(message, "compaction_begin")) continue;
    const { mode, reason, context, turns } = message.payload;
    settings ??= { maxContextLength: 0, maxSessionTurns: -1, mode, prompt: "" };
    settings.mode = mode;
    const prompt = records[index + 1]?.message;
    if (prompt?.payload.type === "text" && isHarnessText(prompt) && settings.prompt === "") {
      settings.prompt = prompt.payload.text;
    }
    if (reason === "turns") settings.maxSessionTurns = lowest(settings.maxSessionTurns, turns);
    if (reason === "context" && !overflows.has(index)) {
      settings.maxContextLength = lowest(settings.maxContextLength, context);
    }
  }
  return settings;
}

/** How contexts were compacted last. */
function modeBefore(records: readonly TraceRecord[], index: number): CompactionSettings["mode"] {
  for (let at = index - 1; at >= 0; at -= 1) {
    const payload = records[at]?.message.payload;
    if (payload?.type === "compaction_begin") return payload.mode;
  }
  return "summarize";
}

function lowest(known: number, found: number): number {
  return known <= 0 ? found : Math.min(known, found);
}

function* overflowCompactions(records: readonly TraceRecord[], exchanges: Exchanges): Iterable<number> {
  for (const { isOverflow, end } of exchanges.requests.values()) {
    if (!isOverflow || end === undefined) continue;
    yield records.findIndex(({ message }, index) => index > end.index && message.payload.type === "compaction_begin");
  }
}
