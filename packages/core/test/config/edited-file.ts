import * as fs from "node:fs";
import type { ModelChange } from "../../src/config/model-change.ts";
import { fileWith } from "./support.ts";

export const name = "project_config.toml";

/** Strange but valid: alignment, comments everywhere, every way to write a text. */
export const written = `# my models
default_model  =  { provider = "deepseek",   model_id = "deepseek-chat" }   # the cheap one
durability = 'process'

# ---- first ----
[[models]]   # head
provider   = "deepseek"     # aligned
model_id   = 'deepseek-chat'
# about the key
api_key    = 'sk-abc'  # my key

pricing = { input = 1.0, output = 2 } # mine

# ---- second ----
[[models]]
  provider = """own"""
  "model_id" = "m"
  protocol = "openai-chat"
  base_url = "http://127.0.0.1:1/v1"
  # trailing comment inside second

# rules
[[command_policy.deny]]
name = "x"
pattern = '''git push.*'''

# end
`;

export const deepseek = { provider: "deepseek", modelId: "deepseek-chat" };
export const own = { provider: "own", modelId: "m" };
export const fresh: ModelChange = {
  provider: "new",
  modelId: "n",
  protocol: "openai-chat",
  baseUrl: "http://127.0.0.1:2/v1",
};

export async function edited(text: string, action: (path: string) => Promise<unknown>): Promise<string> {
  const path = fileWith(name, text);
  await action(path);
  return fs.readFileSync(path, "utf8");
}

export function without(text: string, ...parts: string[]): string {
  for (const part of parts) {
    if (!text.includes(part)) throw new Error(`there is no ${JSON.stringify(part)} in\n${text}`);
    text = text.replace(part, "");
  }
  return text;
}
