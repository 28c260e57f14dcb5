/** Where a Session can be forked: behind each of its completed turns. Pure. */
import type { OmniMessage } from "@coxswain/protocol";
import { UsageError } from "../engine/error.ts";
import { Ledger } from "../engine/ledger.ts";
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
  const ledger = new Ledger();
  let isCommitted = false;
  for (const [index, message] of messages.entries()) {
    if (isCommitted && isBehindTurn(message, ledger.unfinished().request)) {
      ends.push(index);
      isCommitted = false;
    }
    const { isTurnOpen, sessionTurns } = ledger;
    ledger.apply(message);
    isCommitted ||= isTurnOpen && ledger.sessionTurns > sessionTurns;
  }
  return isCommitted ? [...ends, messages.length] : ends;
}

/** @param isInRequest The model has committed the turn, and has not ended. */
function isBehindTurn({ payload: { type } }: OmniMessage, isInRequest: boolean): boolean {
  switch (type) {
    case "request_end":
    case "token_usage":
    // What comes of its calls.
    case "approval_decision":
    case "tool_call_output":
    case "subagent":
    case "notice":
      return false;
    case "request_begin":
    case "compaction_begin":
    case "abort":
      return true;
    default:
      return !isInRequest;
  }
}
