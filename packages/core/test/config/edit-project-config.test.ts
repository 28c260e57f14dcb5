import * as fs from "node:fs";
import { dirname, join } from "node:path";
import { ManualClock } from "@coxswain/testing";
import fc from "fast-check";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { removeModel, setModel } from "../../src/config/edit-project-config.ts";
import type { ModelChange } from "../../src/config/model-change.ts";
import { ModelsInToml } from "../../src/config/models-in-toml.ts";
import { loadProjectConfig } from "../../src/config/project-config.ts";
import { resolveModel } from "../../src/config/resolve-model.ts";
import { createLanguageModel } from "../../src/llm/create-language-model.ts";
import { edited, fresh, name, written } from "./edited-file.ts";
import { configErrorOf, fileWith, temporaryDirectory } from "./support.ts";

describe("whatever is in the file", () => {
  const comment = fc.constantFrom("", "", "# note\n", "\n", "\n# note\n\n", "  # note\n# more\n", "\r\n");
  const tail = fc.constantFrom("", "  # tail");
  const model = fc
    .tuple(
      comment,
      tail,
      comment,
      fc.constantFrom("", "vision = true\n", "pricing = { input = 1 }\n", "[models.pricing]\n# p\ninput = 2\n"),
    )
    .map(
      ([above, end, inside, more]) =>
        (id: number) =>
          `${above}[[models]]${end}\nprovider = "groq"\n${inside}model_id = "m${id}"${end}\n${more}`,
    );
  const rest = fc.constantFrom(
    "",
    "# deny\n[[command_policy.deny]]\nname = \"x\" # n\npattern = 'x'\n\n",
    "\n[command_policy]\n# none\n",
  );
  const top = fc.constantFrom(
    "",
    "# top\n\n",
    "# top\n",
    'default_model = { provider = "groq", model_id = "m0" } # d\n',
    "forbidden_files = [ # f\n'a', # g\n]\n",
  );
  const file = fc.tuple(top, fc.array(fc.tuple(model, rest), { minLength: 1, maxLength: 4 })).map(([begin, parts]) => {
    let hasRest = false;
    return (
      begin +
      parts
        .map(([one, other], id) => {
          const added = hasRest ? "" : other;
          hasRest ||= other !== "";
          return one(id) + added;
        })
        .join("")
    );
  });
  const comments = (text: string): string[] => (text.match(/#.*/g) ?? []).map((one) => one.trim()).sort();

  test("adding, changing and choosing keep every line in its order", async () => {
    await fc.assert(
      fc.asyncProperty(file, async (text) => {
        const after = await edited(text, async (path) => {
          await setModel(path, { ...fresh, asDefault: "when-none" });
          await setModel(path, { provider: "groq", modelId: "m0", maxTokens: 9 });
        });
        expect(comments(after)).toEqual(comments(text));
        const kept = after.split(/\r?\n/).filter((line) => line.trim() !== "");
        let at = 0;
        for (const line of text.split(/\r?\n/).filter((one) => one.trim() !== "")) {
          at = kept.indexOf(line, at) + 1;
          expect([line, at]).not.toEqual([line, 0]);
        }
      }),
      { numRuns: 60 },
    );
  });

  test("removing what was added gives the file as it was, blank lines at its end aside", async () => {
    await fc.assert(
      fc.asyncProperty(file, async (text) => {
        const after = await edited(text, async (path) => {
          await setModel(path, fresh);
          await removeModel(path, fresh);
        });
        expect(after.replaceAll(/\s*\n/g, "\n").trimEnd()).toBe(text.replaceAll(/\s*\n/g, "\n").trimEnd());
      }),
      { numRuns: 60 },
    );
  });
});

describe("a file that must not be changed is left as it was", () => {
  test.each([
    ["no TOML", "models = \n", "no valid TOML"],
    ["a field nobody knows", "modles = []\n", "did you mean models"],
    ["a model without a name", '[[models]]\nprovider = "a"\n', "models[0].model_id is missing"],
    ["no text", Buffer.from([0xff, 0xfe, 0]), "is not UTF-8"],
    ["deep nesting", `forbidden_files = ${"[".repeat(20_000)}`, "TOML"],
  ])("%s", async (_name, content, expected) => {
    const path = fileWith(name, content);
    expect((await configErrorOf(() => setModel(path, fresh))).message).toMatch(expected);
    expect(fs.readFileSync(path).equals(Buffer.from(content))).toBe(true);
    expect(fs.readdirSync(dirname(path)).filter((one) => one.endsWith(".tmp"))).toEqual([]);
  });

  test("when the text would not be read back as asked", async () => {
    const path = fileWith(name, written);
    const forgetful = vi.spyOn(ModelsInToml.prototype, "add").mockImplementation(() => undefined);
    onTestFinished(() => forgetful.mockRestore());
    const error = await configErrorOf(() => setModel(path, { ...fresh, asDefault: "always" }));
    expect(error.message).toMatch(/cannot be changed by a command .* change it by hand$/);
    expect(fs.readFileSync(path, "utf8")).toBe(written);
  });

  test.each<[string, Partial<ModelChange>, string]>([
    ["an empty name", { provider: " " }, 'provider is " "'],
    ["a name of two lines", { modelId: "a\nb" }, "must be a name on one line"],
    ["no address", { baseUrl: "gpu:8000" }, "base_url is"],
    ["a key of two words", { apiKey: "sk a" }, "the key holds spaces"],
    ["no window at all", { contextWindow: 0 }, "context_window is 0"],
    ["half a token", { maxTokens: 1.5 }, "max_tokens is 1.5"],
    [
      "a provider nobody knows, alone",
      { protocol: undefined, baseUrl: undefined },
      'the model "new" "n" needs protocol (one of openai-chat, openai-responses, anthropic, gemini, offline) and base_url (where it is): "new" is no known provider (known are openai, ',
    ],
    ["an address without a protocol", { protocol: undefined }, 'the model "new" "n" needs protocol (one of '],
    ["a protocol that everybody speaks, without an address", { baseUrl: undefined }, "needs base_url (where it is): "],
    [
      "a known provider without an address for the protocol",
      { provider: "offline", baseUrl: undefined },
      'the model "offline" "n" needs base_url (where it is): "offline" has no usual address for openai-chat',
    ],
  ])("because of %s", async (_name, change, expected) => {
    const path = fileWith(name, written);
    const error = await configErrorOf(() => setModel(path, { ...fresh, ...change }));
    expect(error.message).toContain(expected);
    expect(error.message).not.toContain("sk a");
    expect(fs.readFileSync(path, "utf8")).toBe(written);
  });
});

test("what a model needs is not taken out of it", async () => {
  const path = fileWith(name, written);
  const own = { provider: "own", modelId: "m" };
  for (const taken of [{ protocol: null }, { baseUrl: null }]) {
    const error = await configErrorOf(() => setModel(path, { ...own, ...taken }));
    expect(error).toMatchObject({ code: "missing_value", message: expect.stringContaining("needs ") as unknown });
  }
  expect(fs.readFileSync(path, "utf8")).toBe(written);
});

test.each<[string, ModelChange]>([
  ["a known provider", { provider: "openai", modelId: "m" }],
  ["a known provider elsewhere", { provider: "openai", modelId: "m", baseUrl: "https://gpu.example/v1" }],
  ["the offline model", { provider: "offline", modelId: "m" }],
  ["a protocol with a usual address", { provider: "mine", modelId: "m", protocol: "gemini" }],
  ["an address of one's own", fresh],
])("what is stored can be resolved: %s", async (_name, change) => {
  const path = fileWith(name, written);
  await setModel(path, { ...change, apiKey: "k" });
  const projectConfig = await loadProjectConfig(path);
  const { provider, modelId } = change;
  const { settings } = await resolveModel({ projectConfig, provider, modelId, env: {} });
  expect(await createLanguageModel(settings, { clock: new ManualClock(), env: {} })).toMatchObject({
    specificationVersion: "v3",
  });
});

describe("the file itself", () => {
  test("becomes private", async () => {
    const path = fileWith(name, written, 0o644);
    await setModel(path, fresh);
    expect(fs.statSync(path).mode & 0o777).toBe(0o600);
  });

  test("may be kept elsewhere, with a link in its place", async () => {
    const real = fileWith("kept.toml", written);
    const path = join(temporaryDirectory(), name);
    fs.symlinkSync(real, path);
    await setModel(path, fresh);
    expect(fs.readlinkSync(path)).toBe(real);
    expect(fs.readFileSync(real, "utf8")).toContain('provider = "new"');
    expect(fs.readdirSync(dirname(real))).toEqual(["kept.toml"]);
  });

  test("is not made behind a link that leads nowhere", async () => {
    const path = join(temporaryDirectory(), name);
    fs.symlinkSync(join(dirname(path), "gone.toml"), path);
    expect((await configErrorOf(() => setModel(path, fresh))).message).toMatch("is a link to a file that is not there");
    expect(fs.existsSync(join(dirname(path), "gone.toml"))).toBe(false);
  });

  test("is not a directory", async () => {
    const path = join(temporaryDirectory(), name);
    fs.mkdirSync(path);
    expect((await configErrorOf(() => setModel(path, fresh))).message).toMatch("must be a regular file");
  });

  test("keeps the edits of many writers at once", async () => {
    const path = fileWith(name, written);
    const ids = Array.from({ length: 12 }, (_, index) => `m${index}`);
    await Promise.all(ids.map((modelId) => setModel(path, { ...fresh, modelId })));
    const { models } = await loadProjectConfig(path);
    expect(models.map(({ modelId }) => modelId).sort()).toEqual([...ids, "deepseek-chat", "m"].sort());
  });
});
