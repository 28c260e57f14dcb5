import * as fs from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { readTraceFile } from "../../src/trace/read-trace-file.ts";
import { build, lines, meta, temporaryDirectory, textsOf } from "./support.ts";

function put(name: string, text: string): string {
  const path = join(temporaryDirectory(), name);
  fs.writeFileSync(path, text);
  return path;
}

describe("a file with several model contexts", () => {
  test("is split where each begins, and damaged lines are placed in theirs", async () => {
    const path = put(
      "a.jsonl",
      `${lines(meta, build.userText("one"))}no json\n${lines(meta)}neither\n${lines(build.userText("two"))}{"cut`,
    );
    const contexts = await readTraceFile(path);
    expect(contexts.map(({ messages }) => textsOf(messages))).toEqual([["one"], ["two"]]);
    expect(
      contexts.map(({ context, skippedLines, gaps, tornTail }) => [context, skippedLines, gaps, tornTail]),
    ).toEqual([
      [1, [], [], false],
      [2, [3, 5], [0, 1], true],
    ]);
  });

  test("of a later context counts from the number in its name", async () => {
    const path = put("session-2026-01-31-12-00-00-0a1b2c3d_003.jsonl", lines(meta, build.userText("three")));
    expect((await readTraceFile(path)).map(({ context }) => context)).toEqual([3]);
  });

  test("may be named by a link", async () => {
    const path = put("a.jsonl", lines(meta));
    fs.symlinkSync(path, `${path}.link`);
    expect(await readTraceFile(`${path}.link`)).toHaveLength(1);
  });

  test.each<[string, (directory: string) => string, RegExp]>([
    ["is not there", (directory) => join(directory, "none.jsonl"), /there is no file .*none\.jsonl/],
    ["is a directory", (directory) => directory, /is no regular file/],
    [
      "holds something else",
      (directory) => {
        fs.writeFileSync(join(directory, "b"), "# Notes\n");
        return join(directory, "b");
      },
      /holds no message/,
    ],
  ])("that %s is told of in one line", async (_, make, words) => {
    await expect(readTraceFile(make(temporaryDirectory()))).rejects.toThrow(words);
  });
});
