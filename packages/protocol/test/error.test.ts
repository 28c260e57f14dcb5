import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { safeParseOmniMessage } from "../src/index.ts";
import { modelMessage } from "./support/builders.ts";

/** The error of a message in which a field has this value, which it cannot have. */
function shown(value: unknown): string {
  const result = safeParseOmniMessage(modelMessage({ type: "text", role: "user", text: "", stop_reason: value }));
  return result.ok ? "" : result.error.message;
}

describe("the words of an error", () => {
  test("stay short, whatever the value's size", () => {
    expect(shown("x".repeat(1_000_000))).toMatch(/but is "x{60}"… \(1000000 characters\)$/);
    expect(shown("x".repeat(60))).toMatch(/but is "x{60}"$/);
    expect(shown(Object.fromEntries(Array.from({ length: 1000 }, (_, index) => [`k${index}`, 0])))).toMatch(
      /but is an object with "k0", "k1", "k2", "k3", "k4", …$/,
    );
  });

  test.each<[unknown, string]>([
    [{}, "an empty object"],
    [[1, 2], "an array of 2"],
    [() => 1, "a function"],
    [10n, "10"],
    [Symbol("s"), "Symbol(s)"],
    [null, "null"],
  ])("name any value", (value, words) => {
    expect(shown(value)).toMatch(new RegExp(`, but is ${words.replace(/[()]/g, "\\$&")}$`));
  });

  test("show no character that a terminal obeys, no reordering and no half character", () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.oneof(
            fc.constantFrom("\u001b[2J", "\u009b", "\u202e", "\u2028", "\r", "🐧", "\ud83d"),
            fc.string({ unit: "binary" }),
          ),
        ),
        (parts) => {
          const words = shown(parts.join("") || "-");
          expect(words).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\u2028\u2029]/u);
          expect(words.length).toBeLessThan(800);
        },
      ),
    );
    expect(shown("\u009b31m")).toContain('"\\u{9b}31m"');
    expect(shown(`${"x".repeat(59)}🐧y`)).toContain(`"${"x".repeat(59)}"… (62 characters)`);
  });
});
