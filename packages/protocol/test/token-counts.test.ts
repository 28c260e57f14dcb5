import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { emptyTokenCounts, parseOmniMessage, readTokenCounts } from "../src/index.ts";
import { eventMessage } from "./support/builders.ts";

describe("readTokenCounts", () => {
  test("keeps whole counts as they are", () => {
    const counts = { input: 1, cache_read: 2, cache_write: 3, output: 4, total: 10 };
    expect(readTokenCounts(counts)).toStrictEqual(counts);
  });

  test("reads usage without input as the total less the others, and such usage parses", () => {
    const old = { cache_read: 2, cache_write: 3, output: 4, total: 10 };
    const message = eventMessage({ type: "token_usage", session: old, request: old });
    expect(parseOmniMessage(message)).toBe(message);
    expect(readTokenCounts(old)).toStrictEqual({ ...old, input: 1 });
  });

  test.each([
    [{}, emptyTokenCounts()],
    [{ total: 7 }, { ...emptyTokenCounts(), input: 7, total: 7 }],
    [
      { output: 4, input: 3 },
      { ...emptyTokenCounts(), input: 3, output: 4, total: 7 },
    ],
    [
      { output: 9, total: 4 },
      { ...emptyTokenCounts(), output: 9, total: 4 },
    ],
    [
      { input: Number.NaN, output: 1, total: Number.POSITIVE_INFINITY },
      { ...emptyTokenCounts(), output: 1, total: 1 },
    ],
  ])("reads %j", (counts, expected) => {
    expect(readTokenCounts(counts)).toStrictEqual(expected);
  });

  test("recovers input from any whole counts that lost it", () => {
    const tokens = fc.nat(2_000_000);
    fc.assert(
      fc.property(tokens, tokens, tokens, tokens, (input, cacheRead, cacheWrite, output) => {
        const rest = {
          cache_read: cacheRead,
          cache_write: cacheWrite,
          output,
          total: input + cacheRead + cacheWrite + output,
        };
        expect(readTokenCounts(rest)).toStrictEqual({ ...rest, input });
      }),
    );
  });
});
