import { toolCall } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { newTurn, step, type Turn, type TurnEffect, type TurnInput } from "../../src/engine/turn.ts";
import { slotStates } from "./slot-states.ts";

const calls = Array.from({ length: 4 }, (_, index) =>
  toolCall({ name: "t", arguments: "{}", toolCallId: `c${index}` }),
);

interface Path {
  turn: Turn;
  asked: number[];
  /** Slots that wait for an answer, or run, or are being refused. */
  asking: number[];
  working: number[];
  executed: number[];
  closed: number[];
  settles: number;
  callsLeft: number;
  hasEnded: boolean;
  hasWithdrawn: boolean;
}

/** Everything that can happen next, given what the turn has started. */
function possible(path: Path): TurnInput[] {
  const inputs: TurnInput[] = [];
  const call = calls[calls.length - path.callsLeft];
  if (!path.hasEnded && path.callsLeft > 0 && call !== undefined) inputs.push({ at: "call", call });
  if (!path.hasEnded) inputs.push({ at: "stream-end" });
  if (path.hasEnded && !path.hasWithdrawn) inputs.push({ at: "withdraw" });
  for (const slot of path.asking) {
    for (const decision of ["allow", "deny", "forbidden"] as const) inputs.push({ at: "decided", slot, decision });
  }
  for (const slot of path.working) inputs.push({ at: "closed", slot });
  return inputs;
}

function follow(path: Path, input: TurnInput): Path {
  const [turn, effects] = step(path.turn, input);
  const next: Path = { ...path, turn, asking: [...path.asking], working: [...path.working] };
  if (input.at === "call") next.callsLeft -= 1;
  if (input.at === "stream-end") next.hasEnded = true;
  if (input.at === "withdraw") next.hasWithdrawn = true;
  if (input.at === "decided") next.asking = next.asking.filter((slot) => slot !== input.slot);
  if (input.at === "closed") {
    next.working = next.working.filter((slot) => slot !== input.slot);
    next.closed = [...next.closed, input.slot];
  }
  for (const effect of effects) apply(next, effect);
  check(next);
  return next;
}

function apply(path: Path, effect: TurnEffect): void {
  switch (effect.do) {
    case "ask":
      path.asked = [...path.asked, effect.slot];
      path.asking.push(effect.slot);
      return;
    case "execute":
      path.executed = [...path.executed, effect.slot];
      path.working.push(effect.slot);
      return;
    case "refuse":
      path.working.push(effect.slot);
      return;
    case "settle":
      path.settles += 1;
      return;
    default:
      effect satisfies never;
  }
}

function check(path: Path): void {
  // In call order, each once, one at a time.
  if (path.asked.some((slot, index) => slot !== index)) throw new Error(`asked ${path.asked.join()}`);
  if (path.asking.length > 1 && !path.hasWithdrawn) throw new Error(`asking ${path.asking.join()}`);
  if (new Set(path.executed).size !== path.executed.length) throw new Error(`executed ${path.executed.join()}`);
  const isOpen = path.working.length > 0 || (!path.hasWithdrawn && path.closed.length < calls.length - path.callsLeft);
  const isOver = path.hasEnded && !isOpen;
  if (path.settles !== (isOver ? 1 : 0)) throw new Error(`settled ${path.settles} times, open: ${isOpen}`);
}

describe("the turn", () => {
  it("keeps its promises on every path of up to four calls", () => {
    const seen = new Set<string>();
    let pending: Path[] = [
      {
        turn: newTurn,
        asked: [],
        asking: [],
        working: [],
        executed: [],
        closed: [],
        settles: 0,
        callsLeft: calls.length,
        hasEnded: false,
        hasWithdrawn: false,
      },
    ];
    while (pending.length > 0) {
      const next: Path[] = [];
      for (const path of pending) {
        for (const input of possible(path)) {
          const followed = follow(path, input);
          const { turn, ...rest } = followed;
          const key = JSON.stringify([slotStates(turn), turn.isSettled, rest]);
          if (seen.has(key)) continue;
          seen.add(key);
          next.push(followed);
        }
      }
      pending = next;
    }
    expect(seen.size).toBeGreaterThan(1_000);
  });

  it("ignores answers to what it has not asked", () => {
    const [turn] = step(newTurn, { at: "call", call: calls[0] ?? expect.fail() });
    expect(step(turn, { at: "decided", slot: 3, decision: "allow" })).toEqual([turn, []]);
    expect(step(turn, { at: "closed", slot: 0 })).toEqual([turn, []]);
  });
});
