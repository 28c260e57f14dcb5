/** Where a Session stands: what was said last, and what its next request must carry. */
import { isPayload, type OmniMessage, readSteering } from "@coxswain/protocol";
import { replayTrace } from "@coxswain/core";
import { cut, inOneLine } from "./terminal-text.ts";

const exchanges = 3;
const textLength = 400;
/** Longer than what is shown of a conversation: it may be wanted whole. */
const undeliveredLength = 4_000;

/** @param seen What a reader of the Session sees, oldest first. */
export function recentLines(seen: readonly OmniMessage[]): string[] {
  const starts = seen.flatMap((message, index) => (isAsked(message) ? [index] : []));
  const from = starts.at(-exchanges) ?? 0;
  const lines: string[] = [];
  let calls = 0;
  const endCalls = (): void => {
    if (calls > 0) lines.push(`    (${calls === 1 ? "one tool call" : `${calls} tool calls`})`);
    calls = 0;
  };
  for (const message of seen.slice(from)) {
    const { payload } = message;
    if (payload.type === "tool_call") calls += 1;
    if (payload.type !== "text" || payload.text.trim() === "") continue;
    endCalls();
    lines.push(
      payload.role === "user"
        ? `  > ${shown(readSteering(payload.text) ?? payload.text)}`
        : `    ${shown(payload.text)}`,
    );
  }
  endCalls();
  return from > 0 ? ["  …", ...lines] : lines;
}

/** @param messages Records of the newest model context. */
export function owedLines(messages: readonly OmniMessage[]): string[] {
  const { carryOver } = replayTrace(messages);
  if (carryOver.length === 0) return [];
  return [`[owed] ${whyOwed(messages)}, and goes along with what you say next${unansweredWords(messages, carryOver)}`];
}

/** What a person said to a Task that ended before it was delivered; nothing once another request has gone out. */
export function undeliveredLines(messages: readonly OmniMessage[]): string[] {
  const last = messages.findLast((message) => isPayload(message, "abort") || isPayload(message, "request_begin"));
  if (last === undefined || !isPayload(last, "abort")) return [];
  const texts = last.payload.undelivered ?? [];
  return texts.map((text) => `[not delivered] ${cut(inOneLine(text), undeliveredLength)}`);
}

/** A call that was never allowed did not run; of the others nobody knows how far they came. */
function unansweredWords(messages: readonly OmniMessage[], carryOver: readonly OmniMessage[]): string {
  const ids = carryOver.flatMap((message) =>
    isPayload(message, "tool_call_output") && message.payload.output.startsWith("[interrupted: ")
      ? [message.payload.tool_call_id]
      : [],
  );
  const called = new Set<string>();
  const allowed = new Set<string>();
  for (const message of messages) {
    if (isPayload(message, "tool_call")) called.add(message.payload.tool_call_id);
    if (isPayload(message, "approval_decision") && message.payload.decision === "allow")
      allowed.add(message.payload.tool_call_id);
  }
  // Where a record names two calls alike, the second is sent under a number, and only the records tell of its decision.
  const recorded = (id: string): string => (called.has(id) ? id : id.replace(/~\d+$/, ""));
  const unknown = ids.filter((id) => allowed.has(recorded(id))).length;
  const unallowed = ids.length - unknown;
  return [
    unknown === 0 ? "" : `; of ${countOfCalls(unknown)} nobody knows the outcome`,
    unallowed === 0
      ? ""
      : `; ${countOfCalls(unallowed)} ${unallowed === 1 ? "was" : "were"} never allowed and did not run`,
  ].join("");
}

function countOfCalls(count: number): string {
  return count === 1 ? "one call" : `${count} calls`;
}

/** What a person is asked, who may answer with nothing where something is owed. */
export function nextQuestion(isOwed: boolean): string {
  return isOwed ? "What next?  (an empty line sends what is still owed)" : "What next?";
}

function whyOwed(messages: readonly OmniMessage[]): string {
  const abort = messages.findLast((message) => isPayload(message, "abort") || isPayload(message, "request_begin"));
  if (abort === undefined || !isPayload(abort, "abort")) return "the last task stopped before its end";
  const { reason } = abort.payload;
  const isFork = messages[messages.indexOf(abort) - 1]?.payload;
  if (isFork?.type === "notice" && isFork.code === "forked") return "the task that was forked is not over";
  if (reason === undefined || reason === null) return "the last task was interrupted";
  if (reason === "process exited") return "the last task was cut off when its process ended";
  return `the last task failed (${shown(reason)})`;
}

function isAsked(message: OmniMessage): boolean {
  return (
    isPayload(message, "text") && message.payload.role === "user" && readSteering(message.payload.text) === undefined
  );
}

function shown(text: string): string {
  return cut(inOneLine(text), textLength);
}
