import * as fs from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { loadProjectConfig } from "../../src/config/project-config.ts";
import { configErrorOf, fileWith, onlyConfigErrors, temporaryDirectory } from "./support.ts";

const name = "project_config.toml";
const load = (text: string): ReturnType<typeof loadProjectConfig> => loadProjectConfig(fileWith(name, text));

describe("project_config.toml", () => {
  test("that is missing or empty means nothing is configured", async () => {
    const path = join(temporaryDirectory(), name);
    const nothing = { models: [], commandDenyRules: [], sandbox: "off", forbiddenFiles: [], durability: "process" };
    expect(await loadProjectConfig(path)).toEqual({ ...nothing, path, defaultModel: undefined, warnings: [] });
    expect(await load("\ufeff# nothing yet\n")).toMatchObject(nothing);
  });

  test("gives models, rules, globs and durability", async () => {
    const config = await load(`
default_model = { provider = "openai", model_id = "gpt-x" }
forbidden_files = ["**/.env", "secrets/**"]
durability = "power"
sandbox = "strict"

[[models]]
provider = "openai"
model_id = "gpt-x"
api_key = "sk-1"
pricing = { input = 1.25, output = 10, cache_read = 0.1 }

[[models]]
provider = "local"
model_id = "m"
protocol = "openai-chat"
base_url = "http://127.0.0.1:8000/v1"
context_window = 32_000
max_tokens = 4000
vision = true

[[command_policy.deny]]
name = "no-force-push"
pattern = 'git push .*--force'
`);
    expect(config.defaultModel).toEqual({ provider: "openai", modelId: "gpt-x" });
    expect(config.models[0]).toMatchObject({ apiKey: "sk-1", pricing: { input: 1.25, output: 10, cacheRead: 0.1 } });
    expect(config.models[1]).toEqual({
      provider: "local",
      modelId: "m",
      protocol: "openai-chat",
      baseUrl: "http://127.0.0.1:8000/v1",
      apiKey: undefined,
      contextWindow: 32_000,
      maxTokens: 4000,
      vision: true,
      pricing: undefined,
    });
    expect(config.commandDenyRules).toEqual([{ name: "no-force-push", pattern: /git push .*--force/ }]);
    expect(config.forbiddenFiles).toEqual(["**/.env", "secrets/**"]);
    expect(config).toMatchObject({ durability: "power", sandbox: "strict", warnings: [] });
  });

  test("warns when others can read a key in it", async () => {
    const path = fileWith(name, '[[models]]\nprovider = "p"\nmodel_id = "m"\napi_key = "k"\n');
    fs.chmodSync(path, 0o644);
    expect((await loadProjectConfig(path)).warnings).toEqual([
      `${path} holds a key, but others may open it (mode 0644); run: chmod 600 ${path}`,
    ]);
    const withoutKey = fileWith(name, '[[models]]\nprovider = "p"\nmodel_id = "m"\n');
    fs.chmodSync(withoutKey, 0o644);
    expect((await loadProjectConfig(withoutKey)).warnings).toEqual([]);
  });

  test("warns of servers that are not connected to", async () => {
    const path = fileWith(name, '[[mcp_servers]]\nname = "a"\ncommand = "x"\n[[mcp_servers]]\nname = "b"\n');
    expect((await loadProjectConfig(path)).warnings).toEqual([
      `${path}: mcp_servers is not supported in this version; 2 ignored`,
    ]);
  });
});

describe("a mistake in it is told whole in one line", () => {
  const model = '[[models]]\nprovider = "p"\nmodel_id = "m"\n';
  const rows: [string, string, string][] = [
    [
      "a field nobody knows",
      "default_modle = 1\n",
      ":1: default_modle is not a known field; did you mean default_model?",
    ],
    [
      "a field nobody knows, in the second model",
      `${model}\n${model}\n# here\nbase_ulr = "x"\n`,
      ":10: models[1].base_ulr is not a known field; did you mean base_url?",
    ],
    [
      "a field that is like none",
      `${model}zzzzzzzz = 1\n`,
      ":4: models[0].zzzzzzzz is not a known field; known are provider, model_id, protocol, base_url, api_key, context_window, max_tokens, vision, pricing",
    ],
    [
      "the second time a model is listed",
      `${model}${model}`,
      ':6: models[1].model_id is "m", but must be listed once: p has a model of that name above',
    ],
    [
      "a model without a name",
      '[[models]]\nprovider = "p"\n',
      ":1: models[0].model_id is missing; it must be a text in quotes that is not empty",
    ],
    [
      "a protocol nobody speaks",
      `${model}protocol = "grpc"\n`,
      ':4: models[0].protocol is "grpc", but must be one of "openai-chat", "openai-responses", "anthropic", "gemini", "offline"',
    ],
    [
      "a number in quotes",
      `${model}context_window = "8k"\n`,
      ':4: models[0].context_window is "8k", but must be a whole number from 1 on',
    ],
    [
      "a negative price",
      `${model}pricing = { input = -1 }\n`,
      ":4: models[0].pricing.input is -1, but must be a number from 0 on",
    ],
    [
      "a key that is no text",
      `${model}api_key = 12345\n`,
      ":4: models[0].api_key is something else, but must be a text in quotes",
    ],
    ["vision that is a text", `${model}vision = "yes"\n`, ':4: models[0].vision is "yes", but must be true or false'],
    [
      "a rule that is no expression",
      '[[command_policy.deny]]\nname = "n"\npattern = "a("\n',
      ':3: command_policy.deny[0].pattern is "a(", but must be a regular expression (unterminated group), for the rule "n"',
    ],
    [
      "a rule without a name",
      '[[command_policy.deny]]\npattern = "a"\n',
      ":1: command_policy.deny[0].name is missing; it must be a text in quotes that is not empty",
    ],
    [
      "a table for a list",
      '[models]\nprovider = "p"\n',
      ":1: models is a table, but must be a list of tables, each begun by [[models]]",
    ],
    ["a list for a table", "default_model = []\n", ":1: default_model is a list of 0, but must be a table of fields"],
    [
      "a time for a durability",
      "durability = 2026-01-31\n",
      ':1: durability is a date, but must be one of "process", "power"',
    ],
    [
      "a glob that is a number",
      "forbidden_files = [1]\n",
      ":1: forbidden_files is a list of 1, but must be a list of texts, none of them empty",
    ],
    [
      "a sandbox nobody knows",
      'sandbox = "on"\n',
      ':1: sandbox is "on", but must be one of "off", "workspace", "strict"',
    ],
    [
      "a sandbox that is only switched on",
      "sandbox = true\n",
      ':1: sandbox is true, but must be one of "off", "workspace", "strict"',
    ],
  ];
  test.each(rows)("%s", async (_name, text, expected) => {
    const path = fileWith(name, text);
    const error = await configErrorOf(() => loadProjectConfig(path));
    expect(error.message).toBe(path + expected);
    expect(error.kind).toBe("usage");
  });

  test("text that is no TOML, with line and column and without the line itself", async () => {
    const path = fileWith(name, '# fine\napi_key = "sk-secret\n');
    const error = await configErrorOf(() => loadProjectConfig(path));
    expect(error.message).toMatch(new RegExp(`^${path}:2:\\d+: no valid TOML: `));
    expect(error.message).not.toContain("sk-secret");
  });

  test("lines are found behind texts of several lines that look like fields", async () => {
    const text = `[[models]]\nprovider = """p\nvision = 1\n"""\nmodel_id = "m"\nvision = 2\n`;
    const path = fileWith(name, text);
    expect((await configErrorOf(() => loadProjectConfig(path))).message).toMatch(`${path}:6: models[0].vision is 2`);
  });

  test("what is no file, no text, or too large", async () => {
    const directory = temporaryDirectory();
    expect((await configErrorOf(() => loadProjectConfig(directory))).message).toBe(
      `${directory}: must be a regular file`,
    );
    const binary = fileWith(name, Buffer.from([0xff, 0xfe, 0x41]));
    expect((await configErrorOf(() => loadProjectConfig(binary))).message).toBe(
      `${binary}: is not UTF-8 text; save it as UTF-8`,
    );
    const large = fileWith(name, "#".repeat(256 * 1024 + 1));
    expect((await configErrorOf(() => loadProjectConfig(large))).message).toMatch(/has 262145 bytes; at most 262144/);
    const below = join(binary, name);
    expect((await configErrorOf(() => loadProjectConfig(below))).message).toMatch(/: cannot be read: ENOTDIR/);
  });
});

describe("whatever stands in it", () => {
  const words = fc.constantFrom(
    ..."[ ] [[ ]] { } = , . # \n \" ' \"\"\" ''' models default_model provider model_id base_url api_key command_policy.deny name pattern sandbox __proto__ constructor 1 -1 1e400 9223372036854775807 nan true 2026-01-31 a( \\u0000".split(
      " ",
    ),
  );
  test("is a configuration or a ConfigError of one line", async () => {
    const path = fileWith(name, "");
    const texts = fc.oneof(
      fc.string({ unit: "binary" }),
      fc.array(words).map((parts) => parts.join(" ")),
    );
    await fc.assert(
      fc.asyncProperty(texts, async (text) => {
        fs.writeFileSync(path, text);
        await onlyConfigErrors(() => loadProjectConfig(path));
      }),
      { numRuns: 300 },
    );
  });

  test.each([`a = ${"[".repeat(50_000)}`, `a = ${"{a=".repeat(50_000)}`, `[${"a.".repeat(20_000)}a]`])(
    "deep nesting is refused, not fallen over",
    async (text) => {
      await configErrorOf(() => load(text));
    },
  );

  test("names that objects have by themselves are unknown fields", async () => {
    for (const field of ["__proto__", "constructor", "toString"]) {
      expect((await configErrorOf(() => load(`[${field}]\nx = 1\n`))).message).toContain(field);
    }
  });
});
