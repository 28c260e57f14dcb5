/**
 * The calls of one attempt, as a pure state machine: asked one at a time in call order, run as soon as allowed, settled
 * when the stream has ended and nothing is open. It starts nothing itself; it says what to start. A slot is a call's
 * position.
 */
import type { ApprovalDecision } from "@coxswain/protocol";

export interface Turn {
  readonly came: number;
  /** Slots are asked in order; the one asked about is the last of these. */
  readonly asked: number;
  readonly isAsking: boolean;
  /** Slots that are neither closed nor withdrawn. */
  readonly open: number;
  /** No further call comes. */
  readonly hasEnded: boolean;
  readonly isSettled: boolean;
}

export type TurnInput =
  | { at: "call" }
  | { at: "decided"; slot: number; decision: ApprovalDecision }
  /** Its one output is in. */
  | { at: "closed" }
  | { at: "stream-end" }
  /** Whatever is not decided yet never will be. */
  | { at: "withdraw" };

export type TurnEffect =
  | { do: "ask"; slot: number }
  | { do: "execute"; slot: number }
  | { do: "refuse"; slot: number; decision: "deny" | "forbidden" }
  | { do: "settle" };

export const newTurn: Turn = { came: 0, asked: 0, isAsking: false, open: 0, hasEnded: false, isSettled: false };

export function step(turn: Turn, input: TurnInput): [Turn, TurnEffect[]] {
  switch (input.at) {
    case "call":
      return plan({ ...turn, came: turn.came + 1, open: turn.open + 1 });
    case "decided": {
      const { slot, decision } = input;
      // An answer to a question that was withdrawn, or a second answer.
      if (!turn.isAsking || slot !== turn.asked - 1) return [turn, []];
      const decided = { ...turn, isAsking: false };
      return decision === "allow"
        ? plan(decided, { do: "execute", slot })
        : plan(decided, { do: "refuse", slot, decision });
    }
    case "closed":
      return plan({ ...turn, open: turn.open - 1 });
    case "stream-end":
      return plan({ ...turn, hasEnded: true });
    case "withdraw": {
      const undecided = turn.came - turn.asked + (turn.isAsking ? 1 : 0);
      return plan({ ...turn, asked: turn.came, isAsking: false, open: turn.open - undecided });
    }
    default:
      return input satisfies never;
  }
}

/** The one place that decides what starts next. */
function plan(turn: Turn, ...effects: TurnEffect[]): [Turn, TurnEffect[]] {
  if (!turn.isAsking && turn.asked < turn.came) {
    return [{ ...turn, asked: turn.asked + 1, isAsking: true }, [...effects, { do: "ask", slot: turn.asked }]];
  }
  if (turn.hasEnded && !turn.isSettled && turn.open === 0) {
    return [{ ...turn, isSettled: true }, [...effects, { do: "settle" }]];
  }
  return [turn, effects];
}
