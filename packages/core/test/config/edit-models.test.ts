import * as fs from "node:fs";
import { dirname, join } from "node:path";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { removeModel, setDefaultModel, setModel } from "../../src/config/edit-project-config.ts";
import type { ModelChange } from "../../src/config/model-change.ts";
import { loadProjectConfig } from "../../src/config/project-config.ts";
import { deepseek, edited, fresh, name, own, without, written } from "./edited-file.ts";
import { configErrorOf, fileWith, temporaryDirectory } from "./support.ts";

describe("adding a model", () => {
  const entry = `[[models]]
provider = "new"
model_id = "n"
protocol = "openai-chat"
base_url = "http://127.0.0.1:2/v1"
`;

  test("puts it behind the others, and leaves every other character as it was", async () => {
    const text = await edited(written, (path) => setModel(path, fresh));
    expect(without(text, `\n${entry}`)).toBe(written);
    expect(text).toContain(`inside second\n\n${entry}\n# rules`);
  });

  test("makes the file, private, in a private directory, and takes the first model as the default when asked", async () => {
    const path = join(temporaryDirectory(), "home", "project", name);
    const edit = await setModel(path, { ...fresh, asDefault: "when-none" });
    expect(edit).toEqual({ isNew: true, isDefault: true, droppedKey: false });
    expect(fs.readFileSync(path, "utf8")).toBe(`default_model = { provider = "new", model_id = "n" }\n\n${entry}`);
    expect(fs.statSync(path).mode & 0o777).toBe(0o600);
    expect(fs.statSync(dirname(path)).mode & 0o777).toBe(0o700);
    expect((await setModel(path, { ...fresh, modelId: "other", asDefault: "when-none" })).isDefault).toBe(false);
  });

  test.each([
    ["nothing but a comment", "# hello\n", `# hello\n\n${entry}`],
    ["a last line without an end", 'durability = "power"', `durability = "power"\n\n${entry}`],
    [
      "a table of the last model's own",
      '[[models]]\nprovider = "a"\nmodel_id = "b"\n[models.pricing]\ninput = 1.0 # dear\n',
      `[[models]]\nprovider = "a"\nmodel_id = "b"\n[models.pricing]\ninput = 1.0 # dear\n\n${entry}`,
    ],
    [
      "another table in between",
      '[[models]]\nprovider = "a"\nmodel_id = "b"\n[command_policy]\n[[models]]\nprovider = "c"\nmodel_id = "d"\n# d\n',
      `[[models]]\nprovider = "a"\nmodel_id = "b"\n[command_policy]\n[[models]]\nprovider = "c"\nmodel_id = "d"\n# d\n\n${entry}`,
    ],
    [
      "a header right behind",
      '[[models]]\nprovider = "a"\nmodel_id = "b"\n# deny\n[command_policy]\n',
      `[[models]]\nprovider = "a"\nmodel_id = "b"\n\n${entry}\n# deny\n[command_policy]\n`,
    ],
    [
      "a list in brackets",
      'models = [\n  { provider = "a", model_id = "b" }, # first\n]\n',
      'models = [\n  { provider = "a", model_id = "b" }, # first\n  { provider = "new", model_id = "n", protocol = "openai-chat", base_url = "http://127.0.0.1:2/v1" },\n]\n',
    ],
  ])("works with %s", async (_name, before, after) => {
    expect(await edited(before, (path) => setModel(path, fresh))).toBe(after);
  });

  test("keeps the line ends and the byte order mark of the file", async () => {
    const text = await edited(`\ufeff${written.replaceAll("\n", "\r\n")}`, (path) =>
      setModel(path, { ...fresh, asDefault: "always" }),
    );
    expect(text.startsWith("\ufeff# my models\r\n")).toBe(true);
    expect(text.replaceAll("\r\n", "")).not.toMatch(/[\r\n]/);
    expect(text).toContain('default_model  =  { provider = "new",   model_id = "n" }   # the cheap one\r\n');
  });

  test("writes any name so that it is read back", async () => {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 20 }).filter((one) => one.trim() === one);
    await fc.assert(
      fc.asyncProperty(text, text, async (provider, modelId) => {
        const path = fileWith(name, written);
        await setModel(path, { provider, modelId, protocol: "offline", asDefault: "always" });
        const { models, defaultModel } = await loadProjectConfig(path);
        expect(models.at(-1)).toMatchObject({ provider, modelId });
        expect(defaultModel).toEqual({ provider, modelId });
      }),
      { numRuns: 20 },
    );
  });
});

describe("changing a model", () => {
  test("replaces values where they stand, and adds fields behind its last one", async () => {
    const text = await edited(written, (path) =>
      setModel(path, { ...deepseek, apiKey: "sk-new", contextWindow: 5, vision: true }),
    );
    const changed = written
      .replace("'sk-abc'", '"sk-new"')
      .replace("# mine\n", "# mine\ncontext_window = 5\nvision = true\n");
    expect(text).toBe(changed);
  });

  test("indents as the entry does", async () => {
    const text = await edited(written, (path) => setModel(path, { ...own, maxTokens: 7 }));
    expect(text).toContain('/v1"\n  max_tokens = 7\n  # trailing');
  });

  test("takes out what is to be taken out, with its line", async () => {
    const text = await edited(written, (path) => setModel(path, { ...own, protocol: "anthropic", baseUrl: null }));
    expect(text).toBe(
      written.replace('"openai-chat"', '"anthropic"').replace('  base_url = "http://127.0.0.1:1/v1"\n', ""),
    );
  });

  test("works in a list in brackets", async () => {
    const before = 'models = [ { provider = "groq", model_id = "m", api_key = "k" } ] # all\n';
    const change = { provider: "groq", modelId: "m", apiKey: null, vision: false };
    expect(await edited(before, (path) => setModel(path, change))).toBe(
      'models = [ { provider = "groq", model_id = "m", vision = false } ] # all\n',
    );
  });

  test("leaves a file alone that says it already", async () => {
    const path = fileWith(name, written);
    const before = fs.statSync(path).ino;
    await setModel(path, { ...deepseek, apiKey: "sk-abc", asDefault: "always" });
    await setDefaultModel(path, deepseek);
    expect(fs.statSync(path).ino).toBe(before);
    expect(fs.readFileSync(path, "utf8")).toBe(written);
  });
});

describe("a stored key", () => {
  const withKey = (entry: string): string => `[[models]]\nprovider = "openai"\nmodel_id = "m"\n${entry}api_key = "k"\n`;
  const openai = { provider: "openai", modelId: "m" };

  test.each<[string, string, Partial<ModelChange>, string | undefined]>([
    ["goes when the address changes", 'base_url = "https://a.example"\n', { baseUrl: "https://b.example" }, undefined],
    ["goes when the address becomes another than the usual one", "", { baseUrl: "https://b.example" }, undefined],
    ["goes when the address becomes the usual one", 'base_url = "https://a.example"\n', { baseUrl: null }, undefined],
    ["is replaced when one comes with the address", "", { baseUrl: "https://b.example", apiKey: "n" }, "n"],
    [
      "stays when the address is written in another way",
      'base_url = "https://a.example"\n',
      { baseUrl: "https://A.example/" },
      "k",
    ],
    ["stays when the usual address is spelt out", "", { baseUrl: "https://api.openai.com/v1" }, "k"],
    ["stays when anything else changes", "", { vision: true, contextWindow: 1 }, "k"],
    ["stays when the protocol changes at the same address", "", { protocol: "openai-responses" }, "k"],
    ["goes when it is taken out", "", { apiKey: null }, undefined],
  ])("%s", async (_name, entry, change, key) => {
    const path = fileWith(name, withKey(entry));
    const { droppedKey } = await setModel(path, { ...openai, ...change });
    expect((await loadProjectConfig(path)).models[0]?.apiKey).toBe(key);
    expect(droppedKey).toBe(key === undefined && change.apiKey === undefined);
  });

  test("goes when a protocol means another address", async () => {
    const path = fileWith(name, '[[models]]\nprovider = "mine"\nmodel_id = "m"\nprotocol = "gemini"\napi_key = "k"\n');
    const { droppedKey } = await setModel(path, { provider: "mine", modelId: "m", protocol: "anthropic" });
    expect(droppedKey).toBe(true);
    expect((await loadProjectConfig(path)).models[0]).toMatchObject({ protocol: "anthropic", apiKey: undefined });
  });
});

describe("the default model", () => {
  test.each([
    [
      "in braces",
      "default_model = {provider=\"a\", # p\n model_id = 'b' } # both\n",
      'default_model = {provider="own", # p\n model_id = "m" } # both\n',
    ],
    [
      "with dots",
      'default_model.provider = "a" # p\ndefault_model . model_id = "b"\n',
      'default_model.provider = "own" # p\ndefault_model . model_id = "m"\n',
    ],
    [
      "as a table",
      '[default_model] # d\nmodel_id="b"\nprovider = "a" # p\n',
      '[default_model] # d\nmodel_id="m"\nprovider = "own" # p\n',
    ],
  ])("is changed where it is written %s", async (_name, before, after) => {
    const rest = '\n[[models]]\nprovider = "own"\nmodel_id = "m"\n';
    expect(await edited(before + rest, (path) => setDefaultModel(path, own))).toBe(after + rest);
  });

  test.each([
    [
      "behind the other settings",
      'durability = "power" # safe\n\n[[models]]\n',
      'durability = "power" # safe\ndefault_model = { provider = "own", model_id = "m" }\n\n[[models]]\n',
    ],
    [
      "behind what the file begins with",
      "# mine\n# alone\n\n# first\n[[models]]\n",
      '# mine\n# alone\n\ndefault_model = { provider = "own", model_id = "m" }\n\n# first\n[[models]]\n',
    ],
    [
      "in front of the models",
      "# first\n[[models]]\n",
      'default_model = { provider = "own", model_id = "m" }\n\n# first\n[[models]]\n',
    ],
  ])("is written %s", async (_name, before, after) => {
    const rest = 'provider = "own"\nmodel_id = "m"\n';
    expect(await edited(before + rest, (path) => setDefaultModel(path, own))).toBe(after + rest);
  });

  test("may be a model of a known provider that has no entry, and no other", async () => {
    const path = fileWith(name, written);
    await setDefaultModel(path, { provider: "openai", modelId: "gpt-5" });
    expect((await loadProjectConfig(path)).defaultModel).toEqual({ provider: "openai", modelId: "gpt-5" });
    const error = await configErrorOf(() => setDefaultModel(path, { provider: "own", modelId: "other" }));
    expect(error.message).toBe(
      `${path}: the model "own" "other" is not configured; configured are "deepseek" "deepseek-chat", "own" "m"`,
    );
  });
});

describe("removing a model", () => {
  test("takes its entry with the comment above it, and no comment of another", async () => {
    const text = await edited(written, (path) => removeModel(path, own));
    const entry = written.slice(written.indexOf("# ---- second"), written.indexOf("# rules"));
    expect(text).toBe(without(written, entry));
  });

  test("takes the default with it when it is the default", async () => {
    const path = fileWith(name, written);
    expect(await removeModel(path, deepseek)).toEqual({ wasDefault: true });
    const entry = written.slice(written.indexOf("# ---- first"), written.indexOf("# ---- second"));
    const line = 'default_model  =  { provider = "deepseek",   model_id = "deepseek-chat" }   # the cheap one\n';
    expect(fs.readFileSync(path, "utf8")).toBe(without(written, entry, line));
    await removeModel(path, own);
    expect(await loadProjectConfig(path)).toMatchObject({ models: [], defaultModel: undefined });
    expect(fs.readFileSync(path, "utf8")).toContain("# rules\n[[command_policy.deny]]");
  });

  test.each([
    [
      "with a table of its own",
      '# head\n[[models]]\nprovider = "own"\nmodel_id = "m"\n\n[models.pricing]\ninput = 1\n\n[[models]]\nprovider = "a"\nmodel_id = "b"\n',
      '# head\n[[models]]\nprovider = "a"\nmodel_id = "b"\n',
    ],
    [
      "with a table of its own elsewhere",
      '[[models]]\nprovider = "own"\nmodel_id = "m"\n[command_policy]\n[models.pricing]\ninput = 1\n',
      "[command_policy]\n",
    ],
    [
      "at the end of the file",
      '# x\n\ndurability = "power"\n\n[[models]]\nprovider = "own"\nmodel_id = "m"\n',
      '# x\n\ndurability = "power"\n',
    ],
    [
      "right before the comment of the next",
      '[[models]]\nprovider = "own"\nmodel_id = "m"\n# next\n[[models]]\nprovider = "a"\nmodel_id = "b"',
      '# next\n[[models]]\nprovider = "a"\nmodel_id = "b"',
    ],
    [
      "from a list in brackets",
      'models = [\n  { provider = "own", model_id = "m" }, # mine\n  { provider = "a", model_id = "b" }, # other\n]\n',
      'models = [\n  { provider = "a", model_id = "b" }, # other\n]\n',
    ],
  ])("works %s", async (_name, before, after) => {
    expect(await edited(before, (path) => removeModel(path, own))).toBe(after);
  });

  test("that is not there says which are", async () => {
    const path = fileWith(name, written);
    const error = await configErrorOf(() => removeModel(path, fresh));
    expect(error.message).toMatch('the model "new" "n" is not configured; configured are "deepseek"');
    expect(fs.readFileSync(path, "utf8")).toBe(written);
  });
});
