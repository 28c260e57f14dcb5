import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { escapeMarkers, markerTags, unescapeMarkers } from "../../src/index.ts";
import { escapeBareMarkers } from "../../src/marker/grammar.ts";
import { bareTag, markerText } from "../support/arbitraries.ts";

describe("escaping", () => {
  test.each(markerTags)("%s cannot be opened or closed by quoted content, in either bracket form", (tag) => {
    const content = `[${tag}] [/${tag}] <${tag}> </${tag}> [${tag.toUpperCase()}]`;
    const escaped = escapeMarkers(content);
    expect(escaped).toBe(`[\\${tag}] [\\/${tag}] <\\${tag}> <\\/${tag}> [\\${tag.toUpperCase()}]`);
    expect(unescapeMarkers(escaped)).toBe(content);
  });

  test("content that has such backslashes gets one more", () => {
    expect(escapeMarkers("[\\summary] [\\\\/summary]")).toBe("[\\\\summary] [\\\\\\/summary]");
  });

  test("text without tags of ours stays as it is", () => {
    const text = "[x] <b> [summary [ summary] \\[y] [not_summary] $& $1";
    expect(escapeMarkers(text)).toBe(text);
    expect(unescapeMarkers(text)).toBe(text);
  });

  test("unescaping gives back any text, and no bare tag is left in between", () => {
    fc.assert(
      fc.property(markerText, (text) => {
        const escaped = escapeMarkers(text);
        expect(unescapeMarkers(escaped)).toBe(text);
        expect(escaped).not.toMatch(bareTag);
      }),
      { numRuns: 1000 },
    );
  });

  test("escaping bare tags only leaves escaped content alone", () => {
    fc.assert(
      fc.property(markerText, (text) => {
        const escaped = escapeMarkers(text);
        expect(escapeBareMarkers(escaped)).toBe(escaped);
        expect(escapeBareMarkers(text)).not.toMatch(bareTag);
      }),
    );
  });

  test("escaping splits no character and adds none but backslashes", () => {
    fc.assert(
      fc.property(markerText, (text) => {
        expect(escapeMarkers(text).replaceAll("\\", "")).toBe(text.replaceAll("\\", ""));
      }),
    );
  });
});
