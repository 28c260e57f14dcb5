import * as fs from "node:fs";
import { fileURLToPath } from "node:url";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { FileTraceStore } from "../../src/trace/file-trace-store.ts";
import { build, counts, lines, meta, plantTrace, sessionId, temporaryDirectory, textsOf } from "./support.ts";

const records = [
  meta,
  build.userText("Zwölf Boxkämpfer 🥊 jagen 去年"),
  build.requestBegin(),
  build.assistantText('a "quoted" line\nand \\ another'),
  build.tokenUsage({ session: counts(100), request: counts(100) }),
  build.requestEnd("completed"),
];

function sample(name: string): Buffer {
  return fs.readFileSync(fileURLToPath(new URL(`files/${name}.jsonl`, import.meta.url)));
}

async function append(tracesDir: string, text: string, id = sessionId): Promise<void> {
  const sink = await new FileTraceStore({ tracesDir }).open(id);
  await sink.write(build.userText(text));
  await sink.close();
}

describe("a trace that ends anywhere", () => {
  const whole = Buffer.from(lines(...records));

  test("gives the records before the cut, at every byte", async () => {
    const tracesDir = temporaryDirectory();
    const store = new FileTraceStore({ tracesDir });
    for (let length = 0; length <= whole.length; length += 1) {
      const piece = whole.subarray(0, length);
      plantTrace(tracesDir, piece);
      const complete = piece.filter((byte) => byte === 0x0a).length;
      const isWholeLine = length > 0 && whole[length] === 0x0a;
      const { messages, tornTail, skippedLines } = await store.read(sessionId);
      expect(messages).toEqual(records.slice(0, complete + (isWholeLine ? 1 : 0)));
      expect(tornTail).toBe(length > 0 && piece.at(-1) !== 0x0a && !isWholeLine);
      expect(skippedLines).toEqual([]);
    }
  });

  test("goes on with each new record on its own line, and nothing before it changes, at every byte", async () => {
    const tracesDir = temporaryDirectory();
    for (let length = 1; length <= whole.length; length += 7) {
      const piece = whole.subarray(0, length);
      const path = plantTrace(tracesDir, piece);
      await append(tracesDir, "one more");
      const after = fs.readFileSync(path);
      expect(after.subarray(0, length).equals(piece)).toBe(true);
      const added = after.subarray(length).toString();
      const expected = piece.at(-1) === 0x0a ? /^\{.*one more.*\}\n$/ : /^\n\{.*one more.*\}\n$/;
      expect(added).toMatch(expected);
    }
  });
});

describe("files as crashed programs leave them", () => {
  const old = "session-2026-01-05-10-00-00-0000abcd";
  const rows: [string, boolean, number[]][] = [
    ["last-record-cut", true, [7]],
    ["last-record-without-newline", false, []],
    ["cut-inside-a-character", true, [7]],
  ];
  test.each(rows)("%s: what was said is there, before and after going on twice", async (name, tornTail, skipped) => {
    const tracesDir = temporaryDirectory();
    const store = new FileTraceStore({ tracesDir });
    const path = plantTrace(tracesDir, sample(name), old);
    const first = await store.read(old);
    expect(first.tornTail).toBe(tornTail);
    expect(first.skippedLines).toEqual([]);
    expect(first.messages).toHaveLength(6);
    await append(tracesDir, "BANANA", old);
    await append(tracesDir, "CHERRY", old);
    const again = await store.read(old);
    expect(textsOf(again.messages)).toEqual(["Remember the word APRICOT.", "Noted: APRICOT.", "BANANA", "CHERRY"]);
    expect(again).toMatchObject({ tornTail: false, skippedLines: skipped });
    expect(fs.readFileSync(path).subarray(0, sample(name).length).equals(sample(name))).toBe(true);
  });

  test.each(["call-without-output", "outputs-in-completion-order"])(
    "%s: every record is given as it is, in its order, and reading changes nothing",
    async (name) => {
      const tracesDir = temporaryDirectory();
      const path = plantTrace(tracesDir, sample(name), old);
      const written = sample(name)
        .toString()
        .trimEnd()
        .split("\n")
        .map((line): unknown => JSON.parse(line));
      const contents = await new FileTraceStore({ tracesDir }).read(old);
      expect(contents).toEqual({ messages: written, tornTail: false, skippedLines: [] });
      expect(fs.readFileSync(path).equals(sample(name))).toBe(true);
    },
  );
});

describe("damage in the middle", () => {
  test("costs the damaged lines, which are counted from 1, and no other", async () => {
    const tracesDir = temporaryDirectory();
    const good = (text: string): string => lines(build.userText(text));
    const bad = Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xff, 0xe5]), Buffer.from('"}\n')]);
    const wrongMessage = `${JSON.stringify({ ...build.userText("x"), payload: { type: "text", role: "user" } })}\n`;
    plantTrace(
      tracesDir,
      Buffer.concat([
        Buffer.from(`\ufeff${lines(meta)}`),
        bad,
        Buffer.from(`${good("one")}\n \r\n{"cut":\n${good("two").replace("\n", "\r\n")}null\n${wrongMessage}`),
        Buffer.alloc(64),
        Buffer.from(`\n${good("three")}`),
      ]),
    );
    const { messages, skippedLines, tornTail } = await new FileTraceStore({ tracesDir }).read(sessionId);
    expect(textsOf(messages)).toEqual(["one", "two", "three"]);
    expect(messages[0]).toEqual(meta);
    expect(skippedLines).toEqual([2, 6, 8, 9, 10]);
    expect(tornTail).toBe(false);
  });

  test("never makes reading fail", async () => {
    const tracesDir = temporaryDirectory();
    const store = new FileTraceStore({ tracesDir });
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ maxLength: 300 }), fc.nat(800), async (noise, position) => {
        const whole = Buffer.from(lines(...records));
        plantTrace(tracesDir, Buffer.concat([whole.subarray(0, position), noise, whole.subarray(position)]));
        const { messages, skippedLines } = await store.read(sessionId);
        // Noise can hit two lines at most, besides those that it makes itself.
        expect(messages.length).toBeGreaterThanOrEqual(records.length - 2);
        expect(skippedLines.length).toBeLessThanOrEqual(noise.length + 2);
      }),
      { numRuns: 200 },
    );
  });

  test("lines longer than a piece that is read at once are whole", async () => {
    const tracesDir = temporaryDirectory();
    const long = "去🥊".repeat(700_000);
    plantTrace(tracesDir, lines(meta, build.userText(long), build.userText("after")) + lines(build.userText(long)));
    const { messages } = await new FileTraceStore({ tracesDir }).read(sessionId);
    expect(textsOf(messages)).toEqual([long, "after", long]);
  });
});
