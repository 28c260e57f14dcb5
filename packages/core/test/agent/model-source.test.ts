import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ManualClock, type ScriptedLLM, scriptedLLM } from "@coxswain/testing";
import { expect, it } from "vitest";
import { modelSource, type ModelSourceOptions } from "../../src/agent/model-source.ts";
import { parseProjectConfig } from "../../src/config/project-config.ts";
import { loadSystemConfig } from "../../src/config/system-config.ts";
import { configErrorOf } from "../config/support.ts";
import { temporaryDirectory } from "./support.ts";

async function sourceOptions(more: Partial<ModelSourceOptions>): Promise<ModelSourceOptions> {
  return {
    given: undefined,
    provider: undefined,
    modelId: undefined,
    projectConfig: await parseProjectConfig("/h/project_config.toml", { text: "", mode: 0o600 }),
    systemConfig: await loadSystemConfig("/nowhere/system_config.yaml"),
    clock: new ManualClock(),
    env: {},
    ...more,
  };
}

it("the environment that is given has the keys and the proxies, and a proxy that is none is told by its variable", async () => {
  const named = { provider: "openai", modelId: "gpt-5" };
  const env = { OPENAI_API_KEY: "k", HTTPS_PROXY: "my proxy:3128" };
  const error = await configErrorOf(async () => modelSource(await sourceOptions({ ...named, env })));
  expect(error).toMatchObject({
    code: "unsupported",
    message:
      'the environment variable HTTPS_PROXY is "my proxy:3128", but must be the address of a proxy, such as http://127.0.0.1:3128',
  });
  const withKey = await modelSource(await sourceOptions({ ...named, env: { OPENAI_API_KEY: "k" } }));
  expect(withKey).toMatchObject({ ...named, contextWindow: 400_000 });
});

it.each([
  ["is not there", undefined, /cannot be used: ENOENT/],
  ["says nothing", "steps: []\n", /cannot be used: .*scenario\.yaml:1: .*one or more/],
  ["does not parse", "steps: [\n", /cannot be used: .*scenario\.yaml:\d+: not readable as YAML/],
])("a scenario that %s is told by its path", async (_name, text, says) => {
  const modelId = join(await temporaryDirectory(), "scenario.yaml");
  if (text !== undefined) await writeFile(modelId, text);
  const error = await configErrorOf(async () =>
    modelSource(await sourceOptions({ provider: "offline", modelId, env: { HTTPS_PROXY: "my proxy:3128" } })),
  );
  expect(error.code).toBe("invalid_value");
  expect(error.message).toContain(`the scenario ${JSON.stringify(modelId)}`);
  expect(error.message).toMatch(says);
});

it("the configured thinking level holds for every request that names none, a summary's too", async () => {
  const llm: ScriptedLLM = scriptedLLM([{ text: "a" }, { text: "b" }]);
  const options = await sourceOptions({ given: () => llm });
  options.systemConfig.model.thinkingLevel = "low";
  const context = (await modelSource(options)).open({ sessionId: "s", systemPrompt: "", history: [] });
  for (const asked of [{ purpose: "summary" as const }, { thinkingLevel: "high" as const }]) {
    const stream = context.streamGenerate({ newMessages: [], ...asked });
    for (let next = await stream.next(); next.done !== true; ) next = await stream.next();
  }
  expect(llm.requests.map(({ thinkingLevel }) => thinkingLevel)).toEqual(["low", "high"]);
});
