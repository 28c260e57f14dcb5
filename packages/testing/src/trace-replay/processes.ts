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
  /** Nothing but a line that cannot be read tells that one died in front of it. */
  isGuessed: boolean;
}

/**
 * @param first Index of the first record that an engine wrote.
 * @param gaps Indices in front of which a line cannot be read: most are the last words of a process that was killed.
 */
export function findProcesses(
  records: readonly TraceRecord[],
  first: number,
  gaps: ReadonlySet<number>,
): ProcessSpan[] {
  const cuts = new Map<number, Pick<ProcessSpan, "repairs" | "areCut" | "isGuessed">>();
  for (const [index, { message }] of records.entries()) {
    const isAbort = message.payload.type === "abort" && message.payload.reason === "process exited";
    if (isAbort) cuts.set(index + 1, { repairs: firstRepair(records, gaps, index), areCut: false, isGuessed: false });
    else if (isRepairedCompaction(message))
      cuts.set(index + 1, { repairs: firstRepair(records, gaps, index), areCut: true, isGuessed: false });
    else if (isLastWord(records, gaps, index)) {
      const isRepair = isRepairedRequest(records[index]);
      cuts.set(index + 1, { repairs: isRepair ? index : index + 1, areCut: isRepair, isGuessed: false });
    }
  }
  // One that wrote all of them wrote the reason last.
  for (const [start, { areCut }] of cuts) if (areCut && !gaps.has(start) && cuts.has(start + 1)) cuts.delete(start);
  const begin = (restart: number, isGuessed: boolean): void => {
    const start = restart + unwrittenAt(records, restart);
    if (!cuts.has(start)) cuts.set(start, { repairs: restart, areCut: false, isGuessed });
  };
  for (const restart of restarts(records, first, new Set([...cuts.keys(), ...gaps]))) begin(restart, false);
  const ends = new Set(Array.from(cuts.values(), ({ repairs }) => repairs));
  for (const gap of gaps) if (gap > first && gap < records.length && !ends.has(gap)) begin(gap, true);
  const spans: ProcessSpan[] = [];
  let span = { start: first, repairs: first, areCut: false, isGuessed: false };
  for (const [start, its] of [...cuts].sort(([a], [b]) => a - b)) {
    spans.push({ ...span, end: its.repairs });
    span = { start, ...its };
  }
  spans.push({ ...span, end: records.length });
  return spans;
}

/**
 * A resume writes the end of the request, that of the compaction, and the reason, as far as each was missing; of one that
 * died in writing them a line is left that cannot be read.
 */
function firstRepair(records: readonly TraceRecord[], gaps: ReadonlySet<number>, abort: number): number {
  let index = abort;
  if (!gaps.has(index) && isRepairedCompaction(records[index - 1]?.message)) index -= 1;
  if (!gaps.has(index) && isRepairedRequest(records[index - 1])) index -= 1;
  return index;
}

/** A process that was interrupted may have met a disk that failed; one that repairs does not go on after that. */
function isRepairedRequest(record: TraceRecord | undefined): boolean {
  return record !== undefined && isAbortedRequest(record.message) && record.notices.length === 0;
}

/** Behind such ends comes an abort, unless the process that wrote them died, perhaps in the middle of it. */
function isLastWord(records: readonly TraceRecord[], gaps: ReadonlySet<number>, index: number): boolean {
  const record = records[index];
  const next = gaps.has(index + 1) ? undefined : records[index + 1]?.message.payload.type;
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
