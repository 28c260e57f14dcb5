/**
 * The calls of one attempt, as a pure state machine: asked one at a time in call order, run as soon as allowed, settled
 * when the stream has ended and nothing is open. It starts nothing itself; it says what to start.
 */
import type { ApprovalDecision, OmniMessage, ToolCallPayload } from "@coxswain/protocol";
import { Slots } from "./slots.ts";

export type Call = OmniMessage<ToolCallPayload>;

/** `withdrawn`: never decided, never run. */
export type SlotState = "waiting" | "asking" | "refusing" | "running" | "done" | "withdrawn";

interface Slot {
  readonly call: Call;
  readonly state: SlotState;
}

export interface Turn {
  readonly slots: Slots<Slot>;
  /** Index of the first slot that was not asked about yet: slots are asked in order. The one asked about is before it. */
  readonly nextToAsk: number;
  readonly isAsking: boolean;
  /** Slots that are neither done nor withdrawn. */
  readonly open: number;
  /** No further call comes. */
  readonly hasEnded: boolean;
  readonly isSettled: boolean;
}

export type TurnInput =
  | { at: "call"; call: Call }
  | { at: "decided"; slot: number; decision: ApprovalDecision }
  /** Its one output is in. */
  | { at: "closed"; slot: number }
  | { at: "stream-end" }
  /** Whatever is not decided yet never will be. */
  | { at: "withdraw" };

export type TurnEffect =
  | { do: "ask"; slot: number; call: Call }
  | { do: "execute"; slot: number; call: Call }
  | { do: "refuse"; slot: number; call: Call; decision: "deny" | "forbidden" }
  | { do: "settle" };

export const newTurn: Turn = {
  slots: Slots.empty(),
  nextToAsk: 0,
  isAsking: false,
  open: 0,
  hasEnded: false,
  isSettled: false,
};

export function step(turn: Turn, input: TurnInput): [Turn, TurnEffect[]] {
  switch (input.at) {
    case "call":
      return plan({ ...turn, slots: turn.slots.pushed({ call: input.call, state: "waiting" }), open: turn.open + 1 });
    case "decided": {
      const { slot, decision } = input;
      const decided = turn.slots.at(slot);
      // An answer to a question that was withdrawn, or a second answer.
      if (decided?.state !== "asking") return [turn, []];
      const { call } = decided;
      return decision === "allow"
        ? plan({ ...put(turn, slot, "running"), isAsking: false }, { do: "execute", slot, call })
        : plan({ ...put(turn, slot, "refusing"), isAsking: false }, { do: "refuse", slot, call, decision });
    }
    case "closed": {
      const state = turn.slots.at(input.slot)?.state;
      if (state !== "running" && state !== "refusing") return [turn, []];
      return plan({ ...put(turn, input.slot, "done"), open: turn.open - 1 });
    }
    case "stream-end":
      return plan({ ...turn, hasEnded: true });
    case "withdraw":
      return plan(withdraw(turn));
    default:
      return input satisfies never;
  }
}

function withdraw(turn: Turn): Turn {
  const first = turn.isAsking ? turn.nextToAsk - 1 : turn.nextToAsk;
  const { length } = turn.slots;
  let left = turn;
  for (let slot = first; slot < length; slot += 1) left = put(left, slot, "withdrawn");
  return { ...left, open: turn.open - (length - first), isAsking: false, nextToAsk: length };
}

function put(turn: Turn, index: number, state: SlotState): Turn {
  const slot = turn.slots.at(index);
  return slot === undefined ? turn : { ...turn, slots: turn.slots.with(index, { ...slot, state }) };
}

/** The one place that decides what starts next. Its cost does not depend on how many calls there are. */
function plan(turn: Turn, ...effects: TurnEffect[]): [Turn, TurnEffect[]] {
  const next = turn.slots.at(turn.nextToAsk);
  if (!turn.isAsking && next !== undefined) {
    const slot = turn.nextToAsk;
    const asking = { ...put(turn, slot, "asking"), isAsking: true, nextToAsk: slot + 1 };
    return [asking, [...effects, { do: "ask", slot, call: next.call }]];
  }
  if (turn.hasEnded && !turn.isSettled && turn.open === 0) {
    return [{ ...turn, isSettled: true }, [...effects, { do: "settle" }]];
  }
  return [turn, effects];
}
