import { expect, test } from "vitest";
import { keyOrigin } from "../../src/config/model-key.ts";
import type { ModelEntry } from "../../src/config/project-config.ts";

const env = { OPENAI_API_KEY: " sk-env ", GROQ_API_KEY: " " };
const own: ModelEntry = { provider: "own", modelId: "m", protocol: "openai-chat", baseUrl: "https://gpu.example/v1" };

test.each<[string, ModelEntry, unknown]>([
  ["the file's comes first", { provider: "openai", modelId: "m", apiKey: "k" }, { from: "file" }],
  [
    "else the variable's",
    { provider: "openai", modelId: "m", apiKey: " " },
    { from: "environment", variable: "OPENAI_API_KEY" },
  ],
  ["an empty variable has none", { provider: "groq", modelId: "m" }, { from: "missing", variable: "GROQ_API_KEY" }],
  ["nobody knows what a server of one's own wants", own, { from: "unknown" }],
  ["nor what one wants at a usual address", { ...own, protocol: "gemini", baseUrl: " " }, { from: "unknown" }],
  ["nor a local one that is elsewhere", { ...own, provider: "ollama" }, { from: "unknown" }],
  ["one on this machine wants none", { ...own, baseUrl: "http://localhost:1/v1" }, { from: "none-needed" }],
  [
    "nor a known provider's name for one on this machine",
    { provider: "groq", modelId: "m", baseUrl: "http://127.0.0.1:1" },
    { from: "none-needed" },
  ],
  ["nor a local one where it usually is", { provider: "ollama", modelId: "m" }, { from: "none-needed" }],
  ["nor the offline model, by whatever name", { ...own, protocol: "offline" }, { from: "none-needed" }],
])("where a key comes from: %s", (_name, entry, origin) => {
  expect(keyOrigin(entry, env)).toEqual(origin);
});
