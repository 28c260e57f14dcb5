import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createAgent } from "@coxswain/core";
import { scriptedLanguageModel } from "@coxswain/testing";
import { expect, it } from "vitest";
import { atEnd, temporaryDirectory } from "./support.ts";

async function windowOf(config: string): Promise<number> {
  const home = await temporaryDirectory();
  await mkdir(join(home, "default_project"));
  await writeFile(join(home, "default_project", "project_config.toml"), config, { mode: 0o600 });
  const session = await (await createAgent({ home })).createSession();
  atEnd(() => session.dispose());
  return session.meta.model_context_window;
}

it("a Session knows the window of a model that the public list has", async () => {
  const model = 'provider = "openai", model_id = "gpt-5"';
  const entry = '[[models]]\nprovider = "openai"\nmodel_id = "gpt-5"\napi_key = "k"\n';
  expect(await windowOf(`default_model = { ${model} }\n${entry}`)).toBe(400_000);
  expect(await windowOf(`default_model = { ${model} }\n${entry}context_window = 1000\n`)).toBe(1000);
});

it("a Session knows no window of a model that nobody has told it of", async () => {
  const entry =
    '[[models]]\nprovider = "own"\nmodel_id = "gpt-5"\nprotocol = "openai-chat"\nbase_url = "http://127.0.0.1:1"\n';
  expect(await windowOf(`default_model = { provider = "own", model_id = "gpt-5" }\n${entry}`)).toBe(0);
});

it.each([
  ["anthropic.messages", "claude-opus-4-5", 200_000],
  ["google.generative-ai", "gemini-2.5-flash", 1_048_576],
  ["scripted", "model", 0],
])("a model given in code as %s %s has the window that is known of it", async (provider, modelId, window) => {
  const home = await temporaryDirectory();
  const model = { ...scriptedLanguageModel([]), provider, modelId };
  const session = await (await createAgent({ home, model })).createSession();
  atEnd(() => session.dispose());
  expect(session.meta.model_context_window).toBe(window);
});
