/** Where a Session can be forked: behind each of its completed turns. Pure. */
import type { OmniMessage } from "@coxswain/protocol";
import { UsageError } from "../engine/error.ts";
import type { RecordedContext } from "../engine/ports.ts";

export interface ForkPoint {
  /** The contexts before, whole, and the last one up to the turn's end. */
  contexts: OmniMessage[][];
  /** 1-based index of the last of them. */
  context: number;
  /** 1-based, in that context. */
  turn: number;
}

/**
 * @param turn Default: the last completed one.
 * @param context 1-based. Default: the newest with a completed turn.
 * @throws UsageError when there is no such turn
 */
export function forkPoint(contexts: readonly RecordedContext[], turn?: number, context?: number): ForkPoint {
  const ends = contexts.map(({ messages }) => turnEnds(messages));
  const position =
    context === undefined
      ? ends.findLastIndex((some) => some.length > 0)
      : contexts.findIndex((one) => one.context === context);
  const [chosen, itsEnds] = [contexts[position], ends[position]];
  if (context !== undefined && chosen === undefined) {
    const known = contexts.map((one) => one.context).join(", ");
    throw new UsageError(`there is no context ${context}; there is ${known}`);
  }
  if (chosen === undefined || itsEnds === undefined || itsEnds.length === 0) {
    throw new UsageError(
      `${context === undefined ? "the Session" : `context ${context}`} has no completed turn to fork from`,
    );
  }
  const end = itsEnds[(turn ?? itsEnds.length) - 1];
  if (end === undefined) {
    throw new UsageError(
      `there is no turn ${turn} in context ${chosen.context}; its completed turns are 1 to ${itsEnds.length}`,
    );
  }
  const before = contexts.slice(0, position).map(({ messages }) => messages);
  return {
    contexts: [...before, chosen.messages.slice(0, end)],
    context: chosen.context,
    turn: turn ?? itsEnds.length,
  };
}

/** For each completed turn the index behind its last record, the outputs of its calls included. */
function turnEnds(messages: readonly OmniMessage[]): number[] {
  const ends: number[] = [];
  let [isInRequest, isCommitted, isCompacting] = [false, false, false];
  let hasEnded = false;
  const close = (index: number): void => {
    if (isCommitted) ends.push(index);
    isCommitted = false;
    hasEnded = false;
  };
  for (const [index, { payload }] of messages.entries()) {
    if (isCompacting && !belongsToCompaction(payload)) isCompacting = false;
    if (payload.type === "compaction_end") isCompacting = false;
    if (isCompacting) continue;
    if (hasEnded && !belongsToTurn(payload)) close(index);
    switch (payload.type) {
      case "compaction_begin":
        close(index);
        isCompacting = true;
        break;
      case "request_begin":
        close(index);
        isInRequest = true;
        break;
      case "token_usage":
        if (isInRequest) isCommitted = true;
        break;
      case "request_end":
        isCommitted ||= isInRequest && payload.status === "completed";
        isInRequest = false;
        hasEnded = true;
        break;
      case "abort":
        // Its process died before it could tell the request's end.
        close(index);
        isInRequest = false;
        break;
      default:
    }
  }
  close(messages.length);
  return ends;
}

/** What comes of its calls after the model has ended. */
function belongsToTurn({ type }: OmniMessage["payload"]): boolean {
  return (
    type === "approval_decision" ||
    type === "tool_call_output" ||
    type === "subagent" ||
    type === "notice" ||
    type === "token_usage"
  );
}

/** What cannot says that the compaction was never closed. */
function belongsToCompaction(payload: OmniMessage["payload"]): boolean {
  switch (payload.type) {
    case "text":
      return payload.role === "assistant" || payload.sender === "harness";
    case "image_url":
    case "inline_data":
    case "tool_call_output":
    case "approval_decision":
    case "abort":
    case undefined:
      return false;
    default:
      return true;
  }
}
