import { describe, expect, it } from "vitest";
import { newTurn, step, type Turn, type TurnEffect, type TurnInput } from "../../src/engine/turn.ts";

const maxCalls = 4;
const decisions = ["allow", "deny", "forbidden"] as const;

/** What somebody outside knows of a slot, from inputs and effects alone. */
type Seen = "came" | "asked" | "executing" | "refusing" | "closed" | "withdrawn";

interface World {
  turn: Turn;
  slots: Seen[];
  hasEnded: boolean;
  hasWithdrawn: boolean;
  hasSettled: boolean;
}

const begin: World = { turn: newTurn, slots: [], hasEnded: false, hasWithdrawn: false, hasSettled: false };

/** Everything that may come next, answers to withdrawn questions and second answers among it. */
function inputsOf({ slots, hasEnded, hasWithdrawn }: World): TurnInput[] {
  const inputs: TurnInput[] = [];
  if (!hasEnded && slots.length < maxCalls) inputs.push({ at: "call" });
  if (!hasEnded) inputs.push({ at: "stream-end" });
  if (!hasWithdrawn) inputs.push({ at: "withdraw" });
  for (const slot of slots.keys()) {
    for (const decision of decisions) inputs.push({ at: "decided", slot, decision });
  }
  if (slots.some(isWorking)) inputs.push({ at: "closed" });
  return inputs;
}

/** What the input means for whoever sent it. */
function take(world: World, input: TurnInput): void {
  switch (input.at) {
    case "call":
      world.slots.push("came");
      return;
    case "stream-end":
      world.hasEnded = true;
      return;
    case "withdraw":
      world.hasWithdrawn = true;
      world.slots = world.slots.map((seen) => (seen === "came" || seen === "asked" ? "withdrawn" : seen));
      return;
    case "closed":
      world.slots[world.slots.findIndex(isWorking)] = "closed";
      return;
    case "decided":
      return;
    default:
      input satisfies never;
  }
}

function isWorking(seen: Seen | undefined): boolean {
  return seen === "executing" || seen === "refusing";
}

function check(isTrue: boolean, rule: string, world: World, input: TurnInput): void {
  if (!isTrue) throw new Error(`${rule}: ${JSON.stringify(input)} in ${world.slots.join(", ")}`);
}

/** Follows one input, and throws when what it leads to breaks a rule. */
function follow(before: World, input: TurnInput): World {
  const [turn, effects] = step(before.turn, input);
  const world: World = { ...before, turn, slots: [...before.slots] };
  take(world, input);
  let decided = 0;
  for (const effect of effects) {
    const wasAsked = effect.do !== "settle" && before.slots[effect.slot] === "asked";
    decided += effect.do === "execute" || effect.do === "refuse" ? 1 : 0;
    checkEffect(world, input, effect, wasAsked);
    if (effect.do === "ask") world.slots[effect.slot] = "asked";
    else if (effect.do === "execute") world.slots[effect.slot] = "executing";
    else if (effect.do === "refuse") world.slots[effect.slot] = "refusing";
    else world.hasSettled = true;
  }
  const isAnswer = input.at === "decided" && before.slots[input.slot] === "asked";
  check(decided === (isAnswer ? 1 : 0), "each answer to an open question has one consequence", world, input);
  checkState(world, input);
  return world;
}

function checkEffect(world: World, input: TurnInput, effect: TurnEffect, wasAsked: boolean): void {
  switch (effect.do) {
    case "ask":
      check(!world.slots.includes("asked"), "one question at a time", world, input);
      check(
        world.slots[effect.slot] === "came",
        "each call is asked about once, and never once withdrawn",
        world,
        input,
      );
      check(world.slots.indexOf("came") === effect.slot, "in call order", world, input);
      return;
    case "execute":
      check(input.at === "decided" && input.decision === "allow", "runs only after an allow", world, input);
      check(input.at === "decided" && input.slot === effect.slot && wasAsked, "runs what was allowed", world, input);
      return;
    case "refuse":
      check(input.at === "decided" && input.decision === effect.decision, "is refused as it was decided", world, input);
      check(input.at === "decided" && input.slot === effect.slot && wasAsked, "refuses what was asked", world, input);
      return;
    case "settle":
      check(!world.hasSettled, "settles once", world, input);
      return;
    default:
      effect satisfies never;
  }
}

function checkState(world: World, input: TurnInput): void {
  const isOpen = world.slots.some((seen) => seen === "came" || seen === "asked" || isWorking(seen));
  check(world.hasSettled === (world.hasEnded && !isOpen), "settles exactly when nothing is open", world, input);
  const mayAsk = world.slots.includes("came") && !world.slots.includes("asked");
  check(!mayAsk, "asks as soon as it may", world, input);
}

function keyOf({ turn, slots, hasEnded, hasWithdrawn, hasSettled }: World): string {
  return JSON.stringify([turn, slots, hasEnded, hasWithdrawn, hasSettled]);
}

/** Every state that inputs in any order lead to, and how many steps lead between them. */
function searchAll(): { states: number; steps: number } {
  const seen = new Set([keyOf(begin)]);
  const pending = [begin];
  let steps = 0;
  for (let world = pending.pop(); world !== undefined; world = pending.pop()) {
    for (const input of inputsOf(world)) {
      const next = follow(world, input);
      steps += 1;
      const key = keyOf(next);
      if (seen.has(key)) continue;
      seen.add(key);
      pending.push(next);
    }
  }
  return { states: seen.size, steps };
}

describe("the calls of one attempt", () => {
  it("keep every rule in each state that up to four of them can come to, in any order of events", () => {
    const { states, steps } = searchAll();
    console.info(`the turn: ${states} states, ${steps} steps between them`);
    expect(states).toBeGreaterThan(500);
  });
});
