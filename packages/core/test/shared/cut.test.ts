import fc from "fast-check";
import { expect, test } from "vitest";
import { headOf, shortened, tailOf } from "../../src/shared/cut.ts";

const text = fc.string({ unit: "binary", maxLength: 12 });
const length = fc.integer({ min: 1, max: 12 });

test("what is cut is never longer than asked, at most one unit shorter, and halves no character", () => {
  fc.assert(
    fc.property(text, length, (whole, most) => {
      for (const part of [headOf(whole, most), tailOf(whole, most), shortened(whole, most)]) {
        expect(part.isWellFormed()).toBe(true);
        expect(part.length).toBeLessThanOrEqual(most);
        expect(part.length).toBeGreaterThanOrEqual(Math.min(whole.length, most) - 1);
      }
      expect(whole.startsWith(headOf(whole, most))).toBe(true);
      expect(whole.endsWith(tailOf(whole, most))).toBe(true);
    }),
  );
});

test("an ellipsis stands for what is left out, and for nothing else", () => {
  expect([shortened("abc", 3), shortened("abcd", 3), shortened("a😀b", 3)]).toEqual(["abc", "ab…", "a…"]);
});

test("nothing is left of a cut to no length", () => {
  expect([headOf("abc", 0), tailOf("abc", 0), headOf("abc", -1), tailOf("abc", -1)]).toEqual(["", "", "", ""]);
});
