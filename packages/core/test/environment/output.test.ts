import { readFile, stat } from "node:fs/promises";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defineTool } from "../../src/environment/define-tool.ts";
import { callOf, createWorld, hasLoneSurrogate, run } from "./support.ts";
import { answering, streaming } from "./tools.ts";

const none = { type: "object" };

describe("size", () => {
  test("a long output is cut to head and tail, and the whole is in a private file", async () => {
    const whole = `${"a".repeat(20_000)}${"z".repeat(20_000)}`;
    const { environment } = await createWorld({
      tools: [answering(() => ({ output: whole, note: "[exit code: 0]" }))],
    });
    const { output } = await run(environment, "answer", {});
    expect(output.length).toBeLessThanOrEqual(16_000 + "\n[exit code: 0]".length);
    expect(output).toMatch(/^aaa[^]*characters left out[^]*zzz\n\[exit code: 0\]$/);
    const [, leftOut, path] = /(\d+) characters left out; the whole output is in (\S+) …/.exec(output) ?? [];
    const marker = /\n\[…[^\n]*\n/.exec(output)?.[0] ?? "";
    expect(Number(leftOut)).toBe(whole.length - (output.length - marker.length - "\n[exit code: 0]".length));
    expect(await readFile(path ?? "", "utf8")).toBe(whole);
    expect((await stat(path ?? "")).mode & 0o777).toBe(0o600);
    expect((await stat(path?.replace(/\/[^/]*$/, "") ?? "")).mode & 0o777).toBe(0o700);
  });

  test("of a flood 8 MiB are kept, and it is said", async () => {
    const { environment } = await createWorld({
      tools: [streaming(Array.from({ length: 100 }, () => "é".repeat(100_000)))],
    });
    const { output } = await run(environment, "speak", {});
    const path = /the first 8 MiB are in (\S+) …/.exec(output)?.[1] ?? "";
    expect((await stat(path)).size).toBe(8 * 1024 * 1024);
    expect(await readFile(path, "utf8")).not.toContain("\uFFFD");
  });

  test("the live view ends at the limit with one sign", async () => {
    const { environment } = await createWorld({
      tools: [streaming(["12345", "67890", "more", "more"], { maxOutputLength: 7 })],
    });
    expect((await run(environment, "speak", {})).view).toBe("1234567[…]");
  });

  test("no cut and no split leaves half a character anywhere", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.string({ unit: fc.constantFrom("🐧", "a", "\ud83d", "\udc27", "é"), maxLength: 40 }), {
          maxLength: 12,
        }),
        fc.integer({ min: 1, max: 60 }),
        fc.boolean(),
        async (parts, maxOutputLength, whole) => {
          const tool = whole
            ? answering(() => parts.join(""), { maxOutputLength })
            : streaming(parts, { maxOutputLength });
          const { environment } = await createWorld({ tools: [tool] });
          const ran = await run(environment, whole ? "answer" : "speak", {});
          for (const message of ran.messages) expect(hasLoneSurrogate(textsOf(message.payload))).toBe(false);
        },
      ),
      { numRuns: 60 },
    );
  });

  test.each([15_999, 16_000, 7_900])("a pair at %i characters is kept whole or left out", async (length) => {
    const text = `${"a".repeat(length)}🐧 and more text ${"b".repeat(length)}🐧${"c".repeat(7_900)}`;
    const { environment } = await createWorld({ tools: [streaming([text])] });
    const ran = await run(environment, "speak", {});
    for (const message of ran.messages) expect(hasLoneSurrogate(textsOf(message.payload))).toBe(false);
    expect(ran.output.startsWith("aaaa")).toBe(true);
    expect(ran.output.endsWith("cccc")).toBe(true);
  });
});

describe("secrets", () => {
  const secrets = ["tok-1234567890", "tok-1234567890-longer", "short"];

  test("are masked wherever they are split", async () => {
    const text = `x ${secrets[0]} y ${secrets[1]} z`;
    for (let first = 1; first < text.length - 1; first++) {
      const deltas = [text.slice(0, first), text.slice(first, first + 3), text.slice(first + 3)];
      const { environment } = await createWorld({ tools: [streaming(deltas)], secrets });
      const ran = await run(environment, "speak", {});
      expect(ran).toMatchObject({ output: "x [redacted] y [redacted] z", view: "x [redacted] y [redacted] z" });
    }
  });

  test("are masked in results, notes, failures and previews", async () => {
    const tool = defineTool({
      name: "leak",
      description: "",
      parameters: none,
      permission: "r",
      preview: () => ({ summary: `sends ${secrets[0]}` }),
      execute: () => ({ output: `a${secrets[0]}b`, note: `note ${secrets[0]}` }),
    });
    const failing = answering(() => Promise.reject(new Error(`bad ${secrets[0]}`)));
    const { environment } = await createWorld({ tools: [tool, failing], secrets });
    expect((await run(environment, "leak", {})).output).toBe("a[redacted]b\nnote [redacted]");
    expect((await run(environment, "answer", {})).output).toBe("The tool failed: bad [redacted]");
    expect(await environment.preview(callOf("leak", {}))).toEqual({ summary: "sends [redacted]" });
  });

  test("are not cut in two by the limit, nor kept in the file of the whole", async () => {
    const text = `${"a".repeat(7_950)}${secrets[0]}${secrets[0]}${"b".repeat(20_000)}`;
    for (let shift = 0; shift < 60; shift += 7) {
      const { environment } = await createWorld({ tools: [streaming([text.slice(shift)])], secrets });
      const { output } = await run(environment, "speak", {});
      expect(output).not.toContain("tok-");
      const path = /is in (\S+) …/.exec(output)?.[1] ?? "";
      expect(await readFile(path, "utf8")).not.toContain("tok-");
    }
  });
});

function textsOf(payload: object): string {
  return Object.values(payload)
    .filter((value) => typeof value === "string")
    .join(" ");
}
