import fc from "fast-check";
import { expect, test } from "vitest";
import { readSteering, steeringText } from "../../src/index.ts";
import { bareTag, markerText } from "../support/arbitraries.ts";

test("steering is the text between its tags", () => {
  expect(steeringText("use pnpm")).toBe("[user_steering]use pnpm[/user_steering]");
});

test("steering comes back exactly, whatever it says", () => {
  fc.assert(
    fc.property(markerText, (text) => {
      const block = steeringText(text);
      expect(readSteering(block)).toBe(text);
      expect(block.slice("[user_steering]".length, -"[/user_steering]".length)).not.toMatch(bareTag);
    }),
    { numRuns: 500 },
  );
});

test("the angle-bracket form is read as it stands", () => {
  expect(readSteering("<user_steering>keep [\\summary]</user_steering>")).toBe("keep [\\summary]");
});

test.each([
  "",
  "plain",
  "[user_steering]open",
  "[user_steering]",
  "x [user_steering]a[/user_steering]",
  "[user_steering]a</user_steering>",
])("%j is no steering", (text) => {
  expect(readSteering(text)).toBeUndefined();
});
