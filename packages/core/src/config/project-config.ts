/** `project_config.toml`: models, credentials, and what tools may not do. */
import type { ModelPrices } from "../llm/catalogue/model-cost.ts";
import { type ModelProtocol, modelProtocols } from "../llm/model-settings.ts";
import { ConfigError, showValue } from "./config-error.ts";
import { type ConfigFile, readConfigFile } from "./config-file.ts";
import { type ConfigSource, ConfigTable } from "./config-table.ts";
import { wordsOf } from "../shared/error-words.ts";
import { indexTomlLines, lineOfField } from "./toml-lines.ts";

/** A model is always this pair. */
export interface ModelName {
  provider: string;
  modelId: string;
}

export function isSameModel(a: ModelName, b: ModelName | undefined): boolean {
  return a.provider === b?.provider && a.modelId === b.modelId;
}

/** US dollars per million tokens; in a file the same for requests of every size. */
export type ModelPricing = Partial<Record<keyof ModelPrices, number | undefined>>;

export interface ModelEntry extends ModelName {
  protocol?: ModelProtocol | undefined;
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  /** Tokens. */
  contextWindow?: number | undefined;
  /** Tokens of one answer. */
  maxTokens?: number | undefined;
  vision?: boolean | undefined;
  pricing?: ModelPricing | undefined;
}

export interface CommandRule {
  name: string;
  pattern: RegExp;
}

export interface ProjectConfig {
  /** The file, whether it exists or not. */
  path: string;
  defaultModel?: ModelName | undefined;
  models: ModelEntry[];
  /** Commands that no approval allows. */
  commandDenyRules: CommandRule[];
  /** What stands around commands. */
  sandbox: "off" | "workspace" | "strict";
  /** Globs of files that tools may not touch. */
  forbiddenFiles: string[];
  durability: "process" | "power";
  /** One line each, for the person who wrote the file. */
  warnings: string[];
}

const topFields = [
  "default_model",
  "models",
  "command_policy",
  "sandbox",
  "forbidden_files",
  "mcp_servers",
  "durability",
] as const;
const modelFields = [
  "provider",
  "model_id",
  "protocol",
  "base_url",
  "api_key",
  "context_window",
  "max_tokens",
  "vision",
  "pricing",
] as const;

/**
 * A missing file is an empty one.
 *
 * @throws ConfigError
 */
export async function loadProjectConfig(path: string): Promise<ProjectConfig> {
  const file = await readConfigFile(path);
  return parseProjectConfig(path, file ?? { text: "", mode: 0o600 });
}

/** @throws ConfigError */
export async function parseProjectConfig(path: string, file: ConfigFile): Promise<ProjectConfig> {
  const values = file.text.trim() === "" ? {} : await parseToml(path, file.text);
  let lines: Map<string, number> | undefined;
  const source: ConfigSource = {
    file: path,
    lineOf: (field) => lineOfField((lines ??= indexTomlLines(file.text)), field),
  };
  const table = new ConfigTable(source, "", values, topFields);
  const models = readModels(table);
  return {
    path,
    defaultModel: readName(table.table("default_model", ["provider", "model_id"])),
    models,
    commandDenyRules: readDenyRules(table),
    // A setting that protects is never dropped in silence: what is no choice is an error.
    sandbox: table.choice("sandbox", ["off", "workspace", "strict"]) ?? "off",
    forbiddenFiles: table.texts("forbidden_files") ?? [],
    durability: table.choice("durability", ["process", "power"]) ?? "process",
    warnings: warningsOf(path, file.mode, models, table),
  };
}

async function parseToml(path: string, text: string): Promise<unknown> {
  const { parse, TomlError } = await import("smol-toml");
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) {
      throw new ConfigError("syntax", "cannot be read as TOML: it is nested too deeply", { file: path, cause: error });
    }
    // The words of the parser, without the excerpt: it could show a key.
    const words = (error.message.split("\n")[0] ?? "").replace(/^Invalid TOML document: /, "");
    throw new ConfigError("syntax", `no valid TOML: ${words}`, { file: path, line: error.line, column: error.column });
  }
}

function readName(table: ConfigTable | undefined): ModelName | undefined {
  return table && { provider: table.requiredText("provider"), modelId: table.requiredText("model_id") };
}

function readModels(top: ConfigTable): ModelEntry[] {
  const seen = new Set<string>();
  return top.tables("models", modelFields).map((table) => {
    const name = { provider: table.requiredText("provider"), modelId: table.requiredText("model_id") };
    const pair = JSON.stringify([name.provider, name.modelId]);
    if (seen.has(pair)) throw table.wrong("model_id", `listed once: ${name.provider} has a model of that name above`);
    seen.add(pair);
    return {
      ...name,
      protocol: table.choice("protocol", modelProtocols),
      baseUrl: table.text("base_url"),
      apiKey: table.text("api_key"),
      contextWindow: table.count("context_window", 1),
      maxTokens: table.count("max_tokens", 1),
      vision: table.flag("vision"),
      pricing: readPricing(table.table("pricing", ["input", "output", "cache_read", "cache_write"])),
    };
  });
}

function readPricing(table: ConfigTable | undefined): ModelPricing | undefined {
  return (
    table && {
      input: table.amount("input"),
      output: table.amount("output"),
      cacheRead: table.amount("cache_read"),
      cacheWrite: table.amount("cache_write"),
    }
  );
}

function readDenyRules(top: ConfigTable): CommandRule[] {
  const rules = top.table("command_policy", ["deny"])?.tables("deny", ["name", "pattern"]) ?? [];
  return rules.map((table) => {
    const pattern = table.requiredText("pattern");
    const name = table.requiredText("name");
    try {
      return { name, pattern: new RegExp(pattern) };
    } catch (error) {
      const reason = wordsOf(error).replace(/^.*: /, "").toLowerCase();
      throw table.wrong("pattern", `a regular expression (${reason}), for the rule ${showValue(name)}`);
    }
  });
}

function warningsOf(path: string, mode: number, models: ModelEntry[], table: ConfigTable): string[] {
  const warnings: string[] = [];
  if ((mode & 0o077) !== 0 && models.some((model) => model.apiKey !== undefined && model.apiKey !== "")) {
    const shown = mode.toString(8).padStart(4, "0");
    warnings.push(`${path} holds a key, but others may open it (mode ${shown}); run: chmod 600 ${path}`);
  }
  const servers = table.size("mcp_servers");
  if (servers > 0) warnings.push(`${path}: mcp_servers is not supported in this version; ${servers} ignored`);
  return warnings;
}
