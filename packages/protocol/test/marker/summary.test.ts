import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { contextSummaryText, extractSummary, readContextSummary } from "../../src/index.ts";
import { bareTag, markerText } from "../support/arbitraries.ts";

describe("the usable summary of a reply", () => {
  const usable: [name: string, reply: string, summary: string][] = [
    ["is the inside of its block", "Sure:\n[summary]\nThe word is APRICOT.\n[/summary]\nDone.", "The word is APRICOT."],
    ["is found in angle brackets", "<summary>A</summary>", "A"],
    [
      "is the square block when both forms appear",
      "[summary]use <summary>x</summary>[/summary]",
      "use <summary>x</summary>",
    ],
    ["reaches to the end when the block was cut", "Well. [summary]first, second", "first, second"],
    ["is the whole reply when it has no block", "  The word is APRICOT.\n", "The word is APRICOT."],
    ["joins several blocks", "[summary]one[/summary] and [summary]two[/summary]", "one\n\ntwo"],
    ["joins a whole block and a cut one", "[summary]one[/summary] [summary]two", "one\n\ntwo"],
    [
      "keeps a pair of tags that it speaks of",
      "[summary]tags [summary] and [/summary] wrap it[/summary]",
      "tags [summary] and [/summary] wrap it",
    ],
    [
      "keeps a closing tag that it speaks of",
      "[summary]the [/summary] tag ends it[/summary]",
      "the [/summary] tag ends it",
    ],
    [
      "keeps an opening tag that it speaks of",
      "[summary]the [summary] tag begins it[/summary]\n",
      "the [summary] tag begins it",
    ],
    ["keeps replacement patterns as they are", "[summary]$& $$ $1 $' $`[/summary]", "$& $$ $1 $' $`"],
    ["keeps escaped tags as they are", "[summary]saw [\\turn_aborted][/summary]", "saw [\\turn_aborted]"],
    [
      "is not the title of an HTML disclosure",
      "Page: <details open>\n<summary>More</summary></details>",
      "Page: <details open>\n<summary>More</summary></details>",
    ],
    [
      "keeps an HTML disclosure inside",
      "<summary>a <details><summary>b</summary>c</details> d</summary>",
      "a <details><summary>b</summary>c</details> d",
    ],
    ["is unwrapped from the tag that opens a context", "[context_summary]A[/context_summary]", "A"],
    ["ignores a closing tag before any block", "[/summary] [summary]A[/summary]", "A"],
  ];
  test.each(usable)("%s", (_name, reply, summary) => {
    expect(extractSummary(reply)).toBe(summary);
  });

  test.each([
    "",
    " \n\t",
    "[summary][/summary]",
    "Here it is: [summary] \n [/summary] Bye.",
    "[summary]",
    "<summary></summary>",
  ])("is missing in %j", (reply) => {
    expect(extractSummary(reply)).toBeUndefined();
  });

  test("is found whatever surrounds the block", () => {
    const quiet = fc.string({ unit: "binary" }).filter((text) => !text.includes("summary"));
    fc.assert(
      fc.property(quiet, quiet, quiet, (before, summary, after) => {
        expect(extractSummary(`${before}[summary]${summary}[/summary]${after}`)).toBe(summary.trim() || undefined);
      }),
    );
  });

  test("is never blank, and never more than the reply and the joints", () => {
    fc.assert(
      fc.property(markerText, (reply) => {
        const summary = extractSummary(reply);
        expect(summary?.trim()).toBe(summary);
        expect(summary).not.toBe("");
      }),
      { numRuns: 500 },
    );
  });
});

describe("[context_summary]", () => {
  test("wraps the summary", () => {
    expect(contextSummaryText("A")).toBe("[context_summary]A[/context_summary]");
  });

  test("gives the summary back, whatever it says", () => {
    fc.assert(
      fc.property(markerText, (summary) => {
        const block = contextSummaryText(summary);
        expect(readContextSummary(block)).toBe(summary.trim());
        expect(block.slice("[context_summary]".length, -"[/context_summary]".length)).not.toMatch(bareTag);
      }),
      { numRuns: 500 },
    );
  });

  test("is read in the form of older Traces", () => {
    expect(readContextSummary("<context_summary>\nA\n</context_summary>")).toBe("A");
  });

  test("does not grow when a model hands it back wrapped", () => {
    let summary = "A [summary] b";
    for (let round = 0; round < 5; round += 1) summary = extractSummary(contextSummaryText(summary)) ?? "";
    expect(summary).toBe("A [summary] b");
  });

  test("is no summary of another tag", () => {
    expect(readContextSummary("[summary]A[/summary]")).toBeUndefined();
  });
});
