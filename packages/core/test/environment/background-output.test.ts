import { existsSync } from "node:fs";
import { readdir, readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { CommandTranscript } from "../../src/environment/command/command-transcript.ts";
import { callOf, createWorld, hasLoneSurrogate } from "./support.ts";
import { createBackgroundWorld, makeGate, turn } from "./support/background.ts";

const secret = "token-0123456789";

async function transcript(limit = 16_000): Promise<CommandTranscript> {
  const { scratchpadDir } = await createWorld();
  return new CommandTranscript({ limit, scratchpadDir, secrets: [secret] });
}

/** What each of the looks gives: one after each text, and one after the end. */
async function looks(...texts: (string | Buffer)[]): Promise<string[]> {
  const printed = await transcript();
  const seen = texts.map((text) => {
    printed.push(Buffer.from(text));
    return printed.takeUnread();
  });
  printed.end();
  return [...seen, printed.takeUnread()];
}

describe("between two looks", () => {
  test("a character, an escape code and a line end may be split", async () => {
    expect(await looks(Buffer.from([0xc3]), Buffer.from([0xa9, 0xf0, 0x9f]), Buffer.from([0x90, 0xa7]))).toEqual([
      "",
      "é",
      "🐧",
      "",
    ]);
    expect(await looks("a\x1b[3", "1mred\x1b]0;tit", "le\x07b\r", "\nc")).toEqual(["a", "red", "b", "\nc", ""]);
  });

  test("half a character at the end of all is one that is not valid", async () => {
    expect(await looks("a", Buffer.from([0xf0, 0x9f]))).toEqual(["a", "", "\uFFFD"]);
  });

  test("a secret may be split, and is masked in the look that has its end", async () => {
    expect(await looks("x tok", "en-01234", "56789 y", "tok")).toEqual(["x ", "", "[redacted] y", "", "tok"]);
  });

  test("a line that is being rewritten is shown as it stands", async () => {
    expect(await looks("10%", "\r50%", "\r99%\r100%", " done\nmore")).toEqual([
      "10%",
      "50%",
      "100%",
      " done\nmore",
      "",
    ]);
  });

  test("binary data is told, and text that follows it later is text", async () => {
    const binary = Buffer.from(Array.from({ length: 5000 }, (_, index) => (index * 7) % 256));
    expect(await looks("text\n", binary, binary, "text again\n", binary)).toEqual([
      "text\n",
      expect.stringMatching(/\[binary output, 5005 bytes so far: not shown\]\n$/),
      expect.stringMatching(/\[binary output, 10005 bytes so far: not shown\]\n$/),
      "text again\n",
      expect.stringMatching(/\[binary output, 15016 bytes so far: not shown\]\n$/),
      "",
    ]);
  });

  test("whoever watches is shown what is unread, and then what comes; it stays unread", async () => {
    const printed = await transcript();
    printed.push(Buffer.from("unread, "));
    const feed = printed.watch();
    const first = await feed.next();
    printed.push(Buffer.from("new"));
    printed.end();
    expect([first, await feed.next(), await feed.next()]).toEqual(["unread, ", "new", undefined]);
    expect(printed.takeUnread()).toBe("unread, new");
  });

  test("nothing is lost, nothing comes twice, and no character is halved", async () => {
    const { scratchpadDir } = await createWorld();
    const unit = fc.constantFrom("a", "🐧", "é", "\n", "long ".repeat(9));
    const text = fc.array(fc.tuple(fc.string({ unit, maxLength: 12 }), fc.boolean()), { maxLength: 8 });
    fc.assert(
      fc.property(text, fc.integer({ min: 1, max: 5 }), (parts, piece) => {
        const printed = new CommandTranscript({ limit: 16_000, scratchpadDir, secrets: [] });
        const feed = printed.watch();
        let seen = "";
        for (const [part, isLooked] of parts) {
          const bytes = Buffer.from(part);
          for (let start = 0; start < bytes.length; start += piece) printed.push(bytes.subarray(start, start + piece));
          if (isLooked) seen += printed.takeUnread();
        }
        printed.end();
        feed.close();
        expect(seen + printed.takeUnread()).toBe(parts.map(([part]) => part).join(""));
      }),
      { numRuns: 50 },
    );
  });

  test("a look that is cut, however short, has no half character, also in its live view", async () => {
    const { scratchpadDir } = await createWorld();
    const text = fc.string({ unit: fc.constantFrom("🐧", "a"), minLength: 1, maxLength: 300 });
    await fc.assert(
      fc.asyncProperty(text, fc.integer({ min: 1, max: 200 }), async (whole, limit) => {
        const printed = new CommandTranscript({ limit, scratchpadDir, secrets: [] });
        const feed = printed.watch();
        printed.push(Buffer.from(whole));
        const unread = printed.takeUnread();
        feed.close();
        const shown = (await feed.next()) ?? "";
        expect([unread, shown].map(hasLoneSurrogate)).toEqual([false, false]);
        expect(whole.startsWith(shown)).toBe(true);
        expect(unread.length).toBeLessThanOrEqual(Math.max(limit, 3));
      }),
      { numRuns: 50 },
    );
  });
});

describe("a command that prints in the background", () => {
  test("is never kept waiting, and of a flood head, tail and 8 MiB are kept", async () => {
    const world = await createBackgroundWorld();
    const open = makeGate(world);
    const process_id = await world.start("read x < gate; seq 1 3000000; exit 4");
    open();
    const [report] = await world.reported(1);
    expect(report?.text).toMatch(/last look:\n1\n2\n3\n[^]*the first 8 MiB are in [^]*2999999\n3000000\n$/);
    const { output, view } = await world.call("input_command", { process_id });
    expect(output).toMatch(/^1\n2\n3\n[^]*2999999\n3000000\n\[exit code: 4\]$/);
    expect(output.length).toBeLessThanOrEqual(16_000 + "\n[exit code: 4]".length);
    expect(view.length).toBeLessThanOrEqual(16_000 + "[…]".length);
    const path = /the first 8 MiB are in (\S+) …/.exec(output)?.[1] ?? "";
    expect(report?.text).toContain(path);
    expect((await stat(path)).size).toBe(8 * 1024 * 1024);
    expect((await readFile(path, "utf8")).startsWith("1\n2\n3\n")).toBe(true);
  });

  test("leaves nothing open when it ends with the Session, whatever it has printed", async () => {
    const world = await createBackgroundWorld();
    const outputs = join(world.scratchpadDir, "outputs");
    const open = makeGate(world);
    await world.start("read x < gate; seq 1 20000; exec cat", { stdin: true });
    open();
    // Written while nobody looks. What stays open would be found after the test.
    while (!existsSync(outputs)) await turn();
    await world.environment.dispose();
    expect(await readdir(outputs)).toHaveLength(1);
  });

  test("leaves nothing open when its reader leaves", async () => {
    const { environment, scratchpadDir } = await createWorld();
    const toolCall = callOf("exec_command", { cmd: "seq 1 20000; exec sleep 60" });
    for await (const _ of environment.executeTool({ toolCall })) {
      if (existsSync(join(scratchpadDir, "outputs"))) break;
    }
  });
});
