/** Which processes wrote a Trace: where each began, and where it died. */
import { isModelMessage, isSessionMeta } from "@coxswain/core";
import { isConnectEvent, isUserInput, type TraceRecord } from "./recorded-trace.ts";

export interface ProcessSpan {
  /** Index of its first record. */
  start: number;
  /** Index of the first record that is not its own. */
  end: number;
  /** Where the records begin that it wrote for the process before it; `start` when there are none. */
  repairs: number;
}

/** @param first Index of the first record that an engine wrote. */
export function findProcesses(records: readonly TraceRecord[], first: number): ProcessSpan[] {
  const cuts = new Map<number, number>();
  for (const [index, { message }] of records.entries()) {
    const { payload } = message;
    if (payload.type === "abort" && payload.reason === "process exited") {
      cuts.set(index + 1, firstRepair(records, index));
    }
  }
  for (const start of restarts(records, first, new Set(cuts.keys()))) if (!cuts.has(start)) cuts.set(start, start);
  const spans: ProcessSpan[] = [];
  let [start, repairs] = [first, first];
  for (const [next, itsRepairs] of [...cuts].sort(([a], [b]) => a - b)) {
    spans.push({ start, end: itsRepairs, repairs });
    [start, repairs] = [next, itsRepairs];
  }
  spans.push({ start, end: records.length, repairs });
  return spans;
}

/** A resume writes the end of the request, that of the compaction, and the reason, as far as each was missing. */
function firstRepair(records: readonly TraceRecord[], abort: number): number {
  let index = abort;
  const before = (): TraceRecord["message"]["payload"] | undefined => records[index - 1]?.message.payload;
  let payload = before();
  if (payload?.type === "compaction_end" && payload.status === "failed" && payload.error_message === undefined) {
    index -= 1;
    payload = before();
  }
  if (payload?.type === "request_end" && payload.status === "aborted") index -= 1;
  return index;
}

/** A process lists its tools once, and again only when it opens a context; whoever lists them otherwise has just begun. */
function* restarts(records: readonly TraceRecord[], first: number, cuts: ReadonlySet<number>): Iterable<number> {
  let isListed = false;
  for (let index = first; index < records.length; index += 1) {
    if (cuts.has(index)) isListed = false;
    const message = records[index]?.message;
    if (message === undefined) continue;
    if (isSessionMeta(message) && index > first && !hasSpoken(records, index - 1)) {
      // The process before died between opening the file and saying anything in it.
      isListed = false;
      yield index;
    }
    if (message.payload.type !== "tool_list_ready") continue;
    let begin = index;
    while (isConnectEvent(records[begin - 1]?.message)) begin -= 1;
    const opened = records[begin - 1]?.message;
    if (opened !== undefined && isSessionMeta(opened)) {
      const hasConnected = records.slice(begin, index).some(({ message: one }) => one.payload.type !== "notice");
      if (hasConnected && isListed) yield begin - 1;
    } else if (isListed) {
      while (begin > first && isUserInput(records[begin - 1]?.message)) begin -= 1;
      yield begin;
    }
    isListed = true;
  }
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
