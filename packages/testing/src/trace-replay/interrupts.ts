/** Where the interrupts of a Trace came: the records that they ended things with, and what was open then. */
import { engineDefaults, isPayload, isSessionMeta } from "@coxswain/core";
import type { Exchanges, Line, RecordedRequest } from "./exchanges.ts";
import type { ProcessSpan } from "./processes.ts";
import { isAbortedRequest, isConnectEvent, isUserSide, type TraceRecord } from "./recorded-trace.ts";

export interface RecordedInterrupt {
  /** Index of the first record that it caused. */
  at: number;
  abort: number;
  undelivered: string[];
  /** Something was streaming, and the engine closed it. */
  hasOpenSegments: boolean;
}

export function isInterrupt({ message }: TraceRecord): boolean {
  return isPayload(message, "abort") && (message.payload.reason ?? undefined) === undefined;
}

export function findInterrupts(
  records: readonly TraceRecord[],
  { start, end }: ProcessSpan,
  exchanges: Exchanges,
): RecordedInterrupt[] {
  const found: RecordedInterrupt[] = [];
  for (let index = start; index < end; index += 1) {
    const record = records[index];
    if (record === undefined || !isInterrupt(record) || !isPayload(record.message, "abort")) continue;
    const { undelivered = [] } = record.message.payload;
    found.push({ abort: index, undelivered, ...traceBack(records, start, index, exchanges) });
  }
  if (end > start && lacksAbort(records, start, end)) {
    found.push({ abort: end, undelivered: [], ...traceBack(records, start, end, exchanges) });
  }
  return found;
}

/** Whether the last record of a process was the consequence of an interrupt: it died before it could write the abort. */
function lacksAbort(records: readonly TraceRecord[], start: number, end: number): boolean {
  const message = records[end - 1]?.message;
  if (message === undefined) return false;
  const isCompaction = isPayload(message, "compaction_end") && message.payload.status === "aborted";
  if (isCompaction || isAbortedRequest(message)) return true;
  return isUserSide(message) && unlistedOpening(records, start, end) !== undefined;
}

function traceBack(
  records: readonly TraceRecord[],
  start: number,
  abort: number,
  exchanges: Exchanges,
): Pick<RecordedInterrupt, "at" | "hasOpenSegments"> {
  let at = abort;
  const before = () => (at > start ? records[at - 1]?.message.payload : undefined);
  const compactionEnd = before();
  if (compactionEnd?.type === "compaction_end" && compactionEnd.status === "aborted") at -= 1;
  const request = [...exchanges.requests.values()].findLast((one) => one.end?.index === at - 1);
  const wasOpen = request !== undefined && wasCutShort(request, records[at - 2]);
  if (wasOpen) at -= 1;
  const closingsEnd = at;
  while (at > start && isCutOutput(records[at - 1])) at -= 1;
  if (wasOpen) while (request.lines.some((line) => line.index === at - 1 && isCutLine(line))) at -= 1;
  if (at < closingsEnd) return { at, hasOpenSegments: true };
  return { at: unlistedOpening(records, start, at) ?? at, hasOpenSegments: false };
}

/** In a context that tells of no tools the interrupt came while they were looked up; the rest was written all the same. */
function unlistedOpening(records: readonly TraceRecord[], start: number, abort: number): number | undefined {
  let at = abort;
  while (at > start && isUserSide(records[at - 1]?.message)) at -= 1;
  let meta = at - 1;
  while (meta > start && isConnectEvent(records[meta]?.message)) meta -= 1;
  const message = records[meta]?.message;
  return meta >= start && message !== undefined && isSessionMeta(message) ? at : undefined;
}

/** Whether the interrupt came before the request's end was read. */
function wasCutShort({ attempt, end }: RecordedRequest, before: TraceRecord | undefined): boolean {
  if (end === undefined) return false;
  const {
    status,
    attempt: written,
    finish_reason: finishReason,
    error_message: words,
    retry_in_ms: retry,
  } = end.payload;
  if (status === "aborted") return words === undefined && retry === undefined;
  if (status !== "completed" || finishReason !== undefined) return false;
  return isCutOutput(before) || (attempt > 1 && written === undefined);
}

/** An output that was streaming: the engine has put its own words behind it. */
function isCutOutput(record: TraceRecord | undefined): boolean {
  const payload = record?.message.payload;
  if (payload?.type !== "tool_call_output" || payload.stop_reason !== "aborted") return false;
  return payload.output.endsWith(engineDefaults.interruptedPlaceholder);
}

/** What an adapter closed itself has its data. */
function isCutLine({ message: { payload } }: Line): boolean {
  switch (payload.type) {
    case "text":
    case "thinking":
    case "tool_call":
      return payload.stop_reason === "aborted" && payload.fidelity === undefined;
    default:
      return false;
  }
}
