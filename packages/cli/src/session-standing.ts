/** Where a Session stands: what was said last, and what its next request must carry. */
import { isPayload, type OmniMessage, readSteering } from "@coxswain/protocol";
import { replayTrace } from "@coxswain/core";
import { cut, inOneLine } from "./terminal-text.ts";

const exchanges = 3;
const textLength = 400;

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
  const unanswered = carryOver.filter(
    (message) => isPayload(message, "tool_call_output") && message.payload.output.startsWith("[interrupted: "),
  ).length;
  const calls =
    unanswered === 0 ? "" : `; of ${unanswered === 1 ? "one call" : `${unanswered} calls`} nobody knows the outcome`;
  return [`[owed] ${whyOwed(messages)}, and goes along with what you say next${calls}`];
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
