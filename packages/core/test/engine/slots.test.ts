import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { Slots } from "../../src/engine/slots.ts";

function itemsOf(slots: Slots<number>): (number | undefined)[] {
  return Array.from({ length: slots.length }, (_, index) => slots.at(index));
}

function ofLength(length: number): Slots<number> {
  let slots = Slots.empty<number>();
  for (let item = 0; item < length; item += 1) slots = slots.pushed(item);
  return slots;
}

describe("a list of slots", () => {
  // Around the lengths at which it grows deeper.
  it.each([0, 1, 31, 32, 33, 1_023, 1_024, 1_025, 2_000, 32_768, 32_769])("holds %i items", (length) => {
    const slots = ofLength(length);
    expect(itemsOf(slots)).toEqual(Array.from({ length }, (_, item) => item));
    expect(slots.at(length)).toBeUndefined();
    expect(slots.at(100_000)).toBeUndefined();
  });

  it("is what an array would be after any changes, and each of its versions stays", () => {
    const change = fc.tuple(fc.nat(), fc.nat(), fc.boolean());
    fc.assert(
      fc.property(fc.nat(1_100), fc.array(change), (length, changes) => {
        let slots = ofLength(length);
        let items = itemsOf(slots);
        const versions: [Slots<number>, (number | undefined)[]][] = [];
        for (const [place, item, isNew] of changes) {
          versions.push([slots, items]);
          const index = place % Math.max(1, items.length);
          const isPushed = isNew || items.length === 0;
          slots = isPushed ? slots.pushed(item) : slots.with(index, item);
          items = isPushed ? [...items, item] : items.with(index, item);
        }
        for (const [version, expected] of [...versions, [slots, items] as const]) {
          expect(itemsOf(version)).toEqual(expected);
        }
      }),
      { numRuns: 50 },
    );
  });
});
