/** Which processes wrote a Trace: where each began, and where it died. */
import { isModelMessage, isPayload, type OmniMessage, unwrittenInput } from "@coxswain/core";
import { isAbortedRequest, type TraceRecord } from "./recorded-trace.ts";
import { restarts } from "./restarts.ts";

export interface ProcessSpan {
  /** Index of its first record. */
  start: number;
  /** Index of the first record that is not its own. */
  end: number;
  /** Where the records begin that it wrote for the process before it; `start` when there are none. */
  repairs: number;
  /** Another had begun to write them, and died in doing so; they were enough to hide that more was missing. */
  areCut: boolean;
}

/** @param first Index of the first record that an engine wrote. */
export function findProcesses(records: readonly TraceRecord[], first: number): ProcessSpan[] {
  const cuts = new Map<number, Pick<ProcessSpan, "repairs" | "areCut">>();
  for (const [index, { message }] of records.entries()) {
    const isAbort = message.payload.type === "abort" && message.payload.reason === "process exited";
    if (isAbort) cuts.set(index + 1, { repairs: firstRepair(records, index), areCut: false });
    else if (isRepairedCompaction(message))
      cuts.set(index + 1, { repairs: firstRepair(records, index + 1), areCut: true });
    else if (isLastWord(records, index)) {
      const isRepair = isRepairedRequest(records[index]);
      cuts.set(index + 1, { repairs: isRepair ? index : index + 1, areCut: isRepair });
    }
  }
  // One that wrote all of them wrote the reason last.
  for (const start of cuts.keys()) if (cuts.get(start)?.areCut === true && cuts.has(start + 1)) cuts.delete(start);
  for (const restart of restarts(records, first, new Set(cuts.keys()))) {
    const start = restart + unwrittenAt(records, restart);
    if (!cuts.has(start)) cuts.set(start, { repairs: restart, areCut: false });
  }
  const spans: ProcessSpan[] = [];
  let [start, repairs, areCut] = [first, first, false];
  for (const [next, its] of [...cuts].sort(([a], [b]) => a - b)) {
    spans.push({ start, end: its.repairs, repairs, areCut });
    ({ repairs, areCut } = its);
    start = next;
  }
  spans.push({ start, end: records.length, repairs, areCut });
  return spans;
}

/** A resume writes the end of the request, that of the compaction, and the reason, as far as each was missing. */
function firstRepair(records: readonly TraceRecord[], abort: number): number {
  let index = abort;
  if (isRepairedCompaction(records[index - 1]?.message)) index -= 1;
  if (isRepairedRequest(records[index - 1])) index -= 1;
  return index;
}

/** A process that was interrupted may have met a disk that failed; one that repairs does not go on after that. */
function isRepairedRequest(record: TraceRecord | undefined): boolean {
  return record !== undefined && isAbortedRequest(record.message) && record.notices.length === 0;
}

/** Behind such ends comes an abort, unless the process that wrote them died. */
function isLastWord(records: readonly TraceRecord[], index: number): boolean {
  const record = records[index];
  const next = records[index + 1]?.message.payload.type;
  if (record === undefined || next === "abort") return false;
  if (isPayload(record.message, "compaction_end")) return record.message.payload.status === "aborted";
  return isRepairedRequest(record) && next !== "compaction_end";
}

/** An engine that lives says why a compaction failed. */
function isRepairedCompaction(message: OmniMessage | undefined): boolean {
  if (message === undefined || !isPayload(message, "compaction_end")) return false;
  return message.payload.status === "failed" && message.payload.error_message === undefined;
}

/** How many records from here on a resume wrote, because its predecessor died before it had opened its context. */
function unwrittenAt(records: readonly TraceRecord[], start: number): number {
  const context = records[start - 1]?.context;
  if (context === undefined || records[start]?.context !== context) return 0;
  const messagesOf = (which: number): OmniMessage[] =>
    records.flatMap((record, index) => (record.context === which && index < start ? record.message : []));
  const opened = messagesOf(context);
  if (!opened.some(isModelMessage)) return 0;
  for (let before = context - 1; before >= 0; before -= 1) {
    const messages = messagesOf(before);
    if (messages.some(isModelMessage)) return unwrittenInput(messages, opened).length;
  }
  return 0;
}
