import * as fs from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { defaultCompactionPrompt, defaultSystemPrompt } from "../../src/config/default-prompts.ts";
import { loadSystemConfig } from "../../src/config/system-config.ts";
import { configErrorOf, fileWith, onlyConfigErrors, temporaryDirectory } from "./support.ts";

const name = "system_config.yaml";

describe("system_config.yaml", () => {
  test("that is missing, empty or only comments gives the defaults", async () => {
    const defaults = {
      systemPrompt: defaultSystemPrompt,
      maxTurns: 100,
      model: {
        maxTokens: undefined,
        thinkingLevel: undefined,
        timeLimits: { totalMs: 600_000, firstContentMs: 300_000, idleMs: 120_000 },
      },
      compaction: {
        maxContextLength: 128_000,
        maxSessionTurns: -1,
        mode: "summarize",
        prompt: defaultCompactionPrompt,
      },
      tools: undefined,
    };
    const missing = join(temporaryDirectory(), name);
    expect(await loadSystemConfig(missing)).toEqual({ path: missing, ...defaults });
    for (const text of ["", "# nothing\n", "---\n", "model:\ncompaction:\ntools:\n"]) {
      expect(await loadSystemConfig(fileWith(name, text))).toMatchObject(defaults);
    }
  });

  test("gives what it says", async () => {
    const path = fileWith(
      name,
      `# an agent
system_prompt: |
  You help.
  {{AGENTS_MD}}
max_turns: 7
model: { max_tokens: 100, thinking_level: high, timeout_ms: 1, first_content_timeout_ms: 2, idle_timeout_ms: 3 }
compaction:
  max_context_length: 0
  max_session_turns: 20
  mode: discard
  prompt: Sum up.
tools: [read_file, exec_command]
`,
    );
    expect(await loadSystemConfig(path)).toEqual({
      path,
      systemPrompt: "You help.\n{{AGENTS_MD}}\n",
      maxTurns: 7,
      model: { maxTokens: 100, thinkingLevel: "high", timeLimits: { totalMs: 1, firstContentMs: 2, idleMs: 3 } },
      compaction: { maxContextLength: 0, maxSessionTurns: 20, mode: "discard", prompt: "Sum up." },
      tools: ["read_file", "exec_command"],
    });
  });

  test("may offer no tools at all", async () => {
    expect((await loadSystemConfig(fileWith(name, "tools: []\n"))).tools).toEqual([]);
  });
});

describe("a mistake in it is told whole in one line", () => {
  const rows: [string, string, string][] = [
    ["a field nobody knows", "max_turn: 3\n", ":1: max_turn is not a known field; did you mean max_turns?"],
    [
      "a field nobody knows, further in",
      "max_turns: 3\nmodel:\n  # note\n  timeout: 3\n",
      ":4: model.timeout is not a known field; known are max_tokens, thinking_level, timeout_ms, first_content_timeout_ms, idle_timeout_ms",
    ],
    ["no turns", "max_turns: 0\n", ":1: max_turns is 0, but must be a whole number, 1 or more, or -1 for no cap"],
    [
      "a time that no timer takes",
      "model:\n  idle_timeout_ms: 3000000000\n",
      ":2: model.idle_timeout_ms is 3000000000, but must be a whole number from 1 to 2147483647",
    ],
    [
      "a level nobody knows",
      "model:\n  thinking_level: hihg\n",
      ':2: model.thinking_level is "hihg", but must be one of "none", "low", "medium", "high", "xhigh", "max"',
    ],
    [
      "half a turn",
      "compaction:\n  max_session_turns: 1.5\n",
      ":2: compaction.max_session_turns is 1.5, but must be a whole number",
    ],
    [
      "a prompt that is a list",
      "system_prompt:\n  - a\n",
      ":1: system_prompt is a list of 1, but must be a text in quotes",
    ],
    [
      "tools that are a text",
      "tools: read_file\n",
      ':1: tools is "read_file", but must be a list of texts, none of them empty',
    ],
    ["a list for a file", "- a\n", ":1: the file is a list of 1, but must be a table of fields"],
    ["a text for a file", "hello\n", ':1: the file is "hello", but must be a table of fields'],
    [
      "a tag",
      "max_turns: 1\nsystem_prompt: !run x\n",
      ":2:21: no valid YAML: the tag !run is not supported; write plain values",
    ],
    ["a field twice", "max_turns: 1\nmax_turns: 2\n", ":2:1: no valid YAML: Map keys must be unique"],
  ];
  test.each(rows)("%s", async (_name, text, expected) => {
    const path = fileWith(name, text);
    const error = await configErrorOf(() => loadSystemConfig(path));
    expect(error.message).toBe(path + expected);
    expect(error.kind).toBe("usage");
  });

  test("text that is no YAML, with line and column", async () => {
    const path = fileWith(name, 'max_turns: 1\nmodel: {a: "\n');
    expect((await configErrorOf(() => loadSystemConfig(path))).message).toMatch(
      new RegExp(`^${path}:\\d+:\\d+: no valid YAML: `),
    );
  });

  test("more than one document", async () => {
    expect((await configErrorOf(() => loadSystemConfig(fileWith(name, "a: 1\n---\nb: 2\n")))).code).toBe("syntax");
  });
});

describe("whatever stands in it", () => {
  test("aliases that would grow without bound are refused", async () => {
    const levels = Array.from(
      { length: 12 },
      (_, level) => `a${level + 1}: &a${level + 1} [${`*a${level},`.repeat(10)}]`,
    );
    const path = fileWith(name, `a0: &a0 x\n${levels.join("\n")}\n`);
    expect((await configErrorOf(() => loadSystemConfig(path))).message).toContain("cannot be read as YAML");
  });

  test.each([
    "[".repeat(20_000),
    "{a: ".repeat(20_000),
    "- ".repeat(20_000),
    "a: [".repeat(20_000),
    "&a [*a]",
    "a: *b",
    "? [a]\n: b\n",
    "<<: 1",
  ])("odd shapes are a ConfigError (%#)", async (text) => {
    await configErrorOf(() => loadSystemConfig(fileWith(name, text)));
  });

  test("is a configuration or a ConfigError of one line", async () => {
    const path = fileWith(name, "");
    const words = fc.constantFrom(
      ..."model: |compaction: |tools: |max_turns: |system_prompt: |- |\n|  |{|}|[|]|, |: |? |&a |*a|!!binary |!x |!<y> |'|\"|#|%YAML 1.1\n|---\n|...\n|__proto__: |<<: |~|1|-1|.inf|text|>|| ".split(
        "|",
      ),
    );
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(words).map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        fs.writeFileSync(path, text);
        await onlyConfigErrors(() => loadSystemConfig(path));
      }),
      { numRuns: 400 },
    );
  });
});
