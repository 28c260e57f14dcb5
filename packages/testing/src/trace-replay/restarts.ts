/** Where a process began that had nothing to repair: it lists its tools, which it does once, and when it opens a context. */
import { isModelMessage, isPayload, isSessionMeta, type OmniMessage, readSteering } from "@coxswain/core";
import { isInterrupt } from "./interrupts.ts";
import { isConnectEvent, isUserInput, type TraceRecord } from "./recorded-trace.ts";

/**
 * @param first Index of the first record that an engine wrote.
 * @param known Where processes are known to have begun.
 */
export function* restarts(
  records: readonly TraceRecord[],
  first: number,
  known: ReadonlySet<number>,
): Iterable<number> {
  let listed: string | undefined;
  for (let index = first; index < records.length; index += 1) {
    if (known.has(index)) listed = undefined;
    const message = records[index]?.message;
    if (message === undefined) continue;
    if (isSessionMeta(message) && index > first && !hasSpoken(records, index - 1)) {
      // The process before died between opening the file and saying anything in it.
      listed = undefined;
      yield index;
    }
    const tools = toolsListed(records, index);
    if (tools === undefined) continue;
    yield* restartBy(records, first, index, { tools, before: listed });
    listed = tools;
  }
}

function* restartBy(
  records: readonly TraceRecord[],
  first: number,
  listed: number,
  { tools, before }: { tools: string; before: string | undefined },
): Iterable<number> {
  let begin = listed;
  while (isConnectEvent(records[begin - 1]?.message) && (tools === "[]" || !isFailure(records[begin - 1]))) begin -= 1;
  const opened = records[begin - 1]?.message;
  if (opened === undefined || !isSessionMeta(opened)) {
    const next = records[listed + 1]?.message;
    // By hand, so without an input: what stands in front of it was said to another process.
    if (next !== undefined && isPayload(next, "compaction_begin")) yield begin;
    else if (before !== undefined) yield firstInput(records, first, begin);
    return;
  }
  const hasConnected = records.slice(begin, listed).some(({ message }) => message.payload.type !== "notice");
  if (before !== undefined && (hasConnected || tools !== before)) yield begin - 1;
}

/** As JSON. A process that cannot list its tools has none, also when it is interrupted before it says so. */
function toolsListed(records: readonly TraceRecord[], index: number): string | undefined {
  const message = records[index]?.message;
  if (message === undefined) return undefined;
  if (isPayload(message, "tool_list_ready")) return JSON.stringify(message.payload.tools);
  const next = records[index + 1]?.message;
  const isSaid = next !== undefined && isPayload(next, "tool_list_ready") && next.payload.tools.length === 0;
  return isFailure(records[index]) && !isSaid ? "[]" : undefined;
}

function isFailure(record: TraceRecord | undefined): boolean {
  if (record === undefined) return false;
  return isPayload(record.message, "notice") && record.message.payload.code === "tools_unavailable";
}

/** Of all that was said before the tools were listed: also runs that were interrupted before that. */
function firstInput(records: readonly TraceRecord[], first: number, listed: number): number {
  let begin = inputBefore(records, first, listed);
  for (;;) {
    const abort = records[begin - 1];
    if (abort === undefined || !isInterrupt(abort)) return begin;
    const earlier = inputBefore(records, first, begin - 1);
    if (!isRun(records.slice(earlier, begin - 1)) || isOpening(records[earlier - 1])) return begin;
    begin = earlier;
  }
}

/** Steering is heard, with reports in front of it, only by a process that has listed its tools. */
function isRun(said: readonly TraceRecord[]): boolean {
  const others = said.filter(({ message }) => !isSteering(message));
  return others.some(({ report }) => report === undefined) || (others.length > 0 && others.length === said.length);
}

/** A context is not there before something is said in it: its first input is of the process that opened it. */
function inputBefore(records: readonly TraceRecord[], first: number, index: number): number {
  let begin = index;
  for (; begin > first && isInput(records[begin - 1]); begin -= 1) {
    const [before, record] = records.slice(begin - 1, begin + 1);
    if (begin < index && record !== undefined && isOfAnother(record, before)) break;
  }
  return begin < index && isEmptyContext(records, begin) ? begin + 1 : begin;
}

/** Whether nothing was said yet in the context that a compaction has begun. */
function isEmptyContext(records: readonly TraceRecord[], index: number): boolean {
  let begin = index;
  while (isConnectEvent(records[begin - 1]?.message) || isListing(records[begin - 1])) begin -= 1;
  const message = records[begin - 1]?.message;
  return message !== undefined && isSessionMeta(message);
}

function isListing(record: TraceRecord | undefined): boolean {
  return record !== undefined && isPayload(record.message, "tool_list_ready");
}

/**
 * Reports stand in front of what is said to a run. Steering comes after the tools were listed, so it is of the process
 * before; where it cannot be told from an input that is like it, that makes no difference.
 */
function isOfAnother(record: TraceRecord, before: TraceRecord | undefined): boolean {
  if (record.report !== undefined) return before?.report === undefined;
  return before !== undefined && isSteering(before.message) && !isSteering(record.message);
}

function isInput(record: TraceRecord | undefined): boolean {
  return isUserInput(record?.message) || record?.report !== undefined;
}

/** What stands in front of the input in a context that a compaction has begun. */
function isOpening(record: TraceRecord | undefined): boolean {
  if (record === undefined) return false;
  const { message } = record;
  const { payload } = message;
  if (isSessionMeta(message) || isListing(record)) return true;
  return payload.type === "text" && payload.role === "user" && payload.sender === "harness";
}

function isSteering({ payload }: OmniMessage): boolean {
  return payload.type === "text" && readSteering(payload.text) !== undefined;
}

/** Whether anything was said in the context of this record up to it. */
function hasSpoken(records: readonly TraceRecord[], index: number): boolean {
  const context = records[index]?.context;
  for (let at = index; records[at]?.context === context; at -= 1) {
    const message = records[at]?.message;
    if (message !== undefined && isModelMessage(message)) return true;
  }
  return context === 0;
}
