/**
 * The calls of one attempt, as a pure state machine: asked one at a time in call order, run as soon as allowed, settled
 * when the stream has ended and nothing is open. It starts nothing itself; it says what to start.
 */
import type { OmniMessage, ToolCallPayload } from "@coxswain/protocol";

export type Call = OmniMessage<ToolCallPayload>;

/** `withdrawn`: never decided, never run. */
export type SlotState = "waiting" | "asking" | "refusing" | "running" | "done" | "withdrawn";

interface Slot {
  readonly call: Call;
  readonly state: SlotState;
}

export interface Turn {
  readonly slots: readonly Slot[];
  /** No further call comes. */
  readonly hasEnded: boolean;
  readonly isSettled: boolean;
}

export type TurnInput =
  | { at: "call"; call: Call }
  | { at: "decided"; slot: number; decision: "allow" | "deny" | "forbidden" }
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

export const newTurn: Turn = { slots: [], hasEnded: false, isSettled: false };

export function step(turn: Turn, input: TurnInput): [Turn, TurnEffect[]] {
  switch (input.at) {
    case "call":
      return plan({ ...turn, slots: [...turn.slots, { call: input.call, state: "waiting" }] });
    case "decided": {
      const slot = turn.slots[input.slot];
      // An answer to a question that was withdrawn, or a second answer.
      if (slot?.state !== "asking") return [turn, []];
      const { call } = slot;
      return input.decision === "allow"
        ? plan(put(turn, input.slot, "running"), [{ do: "execute", slot: input.slot, call }])
        : plan(put(turn, input.slot, "refusing"), [{ do: "refuse", slot: input.slot, call, decision: input.decision }]);
    }
    case "closed": {
      const state = turn.slots[input.slot]?.state;
      return state === "running" || state === "refusing" ? plan(put(turn, input.slot, "done")) : [turn, []];
    }
    case "stream-end":
      return plan({ ...turn, hasEnded: true });
    case "withdraw":
      return plan({
        ...turn,
        slots: turn.slots.map((slot) => (isUndecided(slot) ? { ...slot, state: "withdrawn" } : slot)),
      });
    default:
      return input satisfies never;
  }
}

function isUndecided(slot: Slot): boolean {
  return slot.state === "waiting" || slot.state === "asking";
}

function isTerminal(slot: Slot): boolean {
  return slot.state === "done" || slot.state === "withdrawn";
}

function put(turn: Turn, index: number, state: SlotState): Turn {
  const slots = [...turn.slots];
  const slot = slots[index];
  if (slot !== undefined) slots[index] = { ...slot, state };
  return { ...turn, slots };
}

/** The one place that decides what starts next. */
function plan(turn: Turn, effects: TurnEffect[] = []): [Turn, TurnEffect[]] {
  if (!turn.slots.some((slot) => slot.state === "asking")) {
    const next = turn.slots.findIndex((slot) => slot.state === "waiting");
    const slot = turn.slots[next];
    if (slot !== undefined) {
      return [put(turn, next, "asking"), [...effects, { do: "ask", slot: next, call: slot.call }]];
    }
  }
  if (turn.hasEnded && !turn.isSettled && turn.slots.every(isTerminal)) {
    return [{ ...turn, isSettled: true }, [...effects, { do: "settle" }]];
  }
  return [turn, effects];
}
