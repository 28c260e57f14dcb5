/** A Trace laid out as one list of records, with what a replay cannot use set aside. */
import {
  type BackgroundReport,
  isPartial,
  isPayload,
  isSessionMeta,
  type OmniMessage,
  type RecordedContext,
} from "@coxswain/core";

export interface TraceRecord {
  message: OmniMessage;
  /** Index of its model context in the Trace. */
  context: number;
  /** Such as `record 12 of context 2`; both are counted from 1. */
  place: string;
  /** Notices that the engine writes right behind it. */
  notices: { message: OmniMessage; place: string }[];
  /** What background work said, when this is the text of it. */
  report: BackgroundReport | undefined;
}

export interface RecordedTrace {
  records: readonly TraceRecord[];
  /** Indices in front of which a line could not be read. */
  gaps: ReadonlySet<number>;
  /** The last line was cut. */
  isTorn: boolean;
  /** What was left out, in words. */
  setAside: string[];
}

const events = new Set<string | undefined>([
  "request_begin",
  "request_end",
  "approval_decision",
  "token_usage",
  "compaction_begin",
  "compaction_end",
  "abort",
  "subagent",
  "tool_list_ready",
  "mcp_connect_begin",
  "mcp_connect_end",
  "notice",
]);

export function layOut(contexts: readonly RecordedContext[]): RecordedTrace {
  const records: TraceRecord[] = [];
  const gaps = new Set<number>();
  const leftOut = new Map<string, number>();
  for (const [position, { context, messages, gaps: ownGaps }] of contexts.entries()) {
    let isInRequest = false;
    for (const [index, message] of messages.entries()) {
      if (ownGaps.includes(index)) gaps.add(records.length);
      const reason = whyNot(message, isInRequest) ?? whyNotAgain(message, records.at(-1));
      if (reason !== undefined) {
        leftOut.set(reason, (leftOut.get(reason) ?? 0) + 1);
        continue;
      }
      const place = `record ${index + 1} of context ${context}`;
      if (addToRecord(message, place, records.at(-1))) continue;
      records.push({ message, context: position, place, notices: [], report: undefined });
      if (message.payload.type === "request_begin") isInRequest = true;
      else if (message.payload.type === "request_end") isInRequest = false;
    }
    if (ownGaps.includes(messages.length)) gaps.add(records.length);
  }
  return {
    records,
    gaps,
    isTorn: contexts.at(-1)?.tornTail === true,
    setAside: Array.from(leftOut, ([reason, count]) => `${count} × ${reason}`),
  };
}

/** Whether it says more of the record before it; then that one has it. */
function addToRecord(notice: OmniMessage, place: string, before: TraceRecord | undefined): boolean {
  if (before === undefined || !isPayload(notice, "notice")) return false;
  const isReport = notice.payload.code === "background_ended" && isHarnessText(before.message);
  if (!isReport && !isOutage(notice)) return false;
  before.notices.push({ message: notice, place });
  const { payload } = before.message;
  if (isReport && payload.type === "text") before.report = { text: payload.text, summary: notice.payload.message };
  return true;
}

/** The disk refused the record in front of it. */
export function isOutage(message: OmniMessage): boolean {
  return isPayload(message, "notice") && message.payload.code === "trace_write_failed";
}

/** Why a record is none that an engine of today could write; `undefined` for all others. */
function whyNot(message: OmniMessage, isInRequest: boolean): string | undefined {
  const { payload, origin } = message;
  if (origin !== undefined) return "a message of another Session";
  if (isPartial(message)) return "a fragment";
  if (isSessionMeta(message)) return undefined;
  if (payload.type === "notice" && payload.code === "forked") return "a note of where the Session was forked";
  const isKnown = message.type === "event_msg" ? events.has(payload.type) : isModelRecord(payload) || isInRequest;
  return isKnown ? undefined : `a record of the unknown kind ${JSON.stringify(payload.type)}`;
}

function whyNotAgain(message: OmniMessage, before: TraceRecord | undefined): string | undefined {
  const notice = before?.notices.at(-1)?.message;
  if (notice === undefined || !isOutage(notice) || !isOutage(message)) return undefined;
  return "a second notice of the same outage";
}

function isModelRecord({ type }: OmniMessage["payload"]): boolean {
  switch (type) {
    case "text":
    case "thinking":
    case "inline_thinking":
    case "tool_call":
    case "tool_call_output":
    case "image_url":
    case "inline_data":
      return true;
    default:
      return false;
  }
}

/** As an interrupt ends a request, and a resume. */
export function isAbortedRequest(message: OmniMessage): boolean {
  if (!isPayload(message, "request_end") || message.payload.status !== "aborted") return false;
  return message.payload.error_message === undefined && message.payload.retry_in_ms === undefined;
}

/** What a person's side says; our own prompts are not. */
export function isUserInput(message: OmniMessage | undefined): message is OmniMessage {
  const payload = message?.payload;
  switch (payload?.type) {
    case "text":
      return payload.role === "user" && payload.sender !== "harness";
    case "inline_data":
      return payload.role === "user";
    case "image_url":
      return true;
    default:
      return false;
  }
}

export function isHarnessText(message: OmniMessage | undefined): boolean {
  return message?.payload.type === "text" && message.payload.role === "user" && message.payload.sender === "harness";
}

/** What stands in front of a request: of a person, of ours, or outputs that were owed. */
export function isUserSide(message: OmniMessage | undefined): boolean {
  return message?.payload.type === "tool_call_output" || isUserInput(message) || isHarnessText(message);
}

/** What an Environment tells while it connects. */
export function isConnectEvent(message: OmniMessage | undefined): boolean {
  const payload = message?.payload;
  if (payload?.type === "notice") return payload.code !== "compaction_off";
  return payload?.type === "mcp_connect_begin" || payload?.type === "mcp_connect_end";
}
