/** `system_config.yaml` of an agent: prompt, limits, tools, compaction. Nothing in it widens what tools may do. */
import { compactionModes, type ThinkingLevelName, thinkingLevels } from "@coxswain/protocol";
import { engineDefaults } from "../engine/defaults.ts";
import type { CompactionSettings } from "../engine/ports.ts";
import type { ModelTimeLimits } from "../llm/model-settings.ts";
import { readConfigFile } from "./config-file.ts";
import { type ConfigSource, ConfigTable } from "./config-table.ts";
import { defaultCompactionPrompt, defaultSystemPrompt } from "./default-prompts.ts";
import { parseYaml } from "./yaml-source.ts";

export interface SystemConfig {
  /** The file, whether it exists or not. */
  path: string;
  /** A template: see `fillPromptTemplate`. */
  systemPrompt: string;
  maxTurns: number;
  model: {
    /** Tokens of one answer. */
    maxTokens?: number | undefined;
    thinkingLevel?: ThinkingLevelName | undefined;
    timeLimits: ModelTimeLimits;
  };
  compaction: CompactionSettings;
  /** Names of the tools to offer. Absent: all. */
  tools?: string[] | undefined;
}

/** Timers of the platform take no more. */
const maxDelayMs = 2 ** 31 - 1;

/**
 * A missing file is an empty one.
 *
 * @throws ConfigError
 */
export async function loadSystemConfig(path: string): Promise<SystemConfig> {
  const file = await readConfigFile(path);
  const { values, source } =
    file === undefined || file.text.trim() === "" ? nothingIn(path) : await parseYaml(path, file.text);
  const top = new ConfigTable(source, "", values, ["system_prompt", "max_turns", "model", "compaction", "tools"]);
  return {
    path,
    systemPrompt: top.text("system_prompt") ?? defaultSystemPrompt,
    maxTurns: readMaxTurns(top),
    model: readModel(top),
    compaction: readCompaction(top),
    tools: top.texts("tools"),
  };
}

function nothingIn(path: string): { values: unknown; source: ConfigSource } {
  return { values: {}, source: { file: path, lineOf: () => undefined } };
}

/** -1: no cap. */
function readMaxTurns(top: ConfigTable): number {
  const turns = top.count("max_turns", -1) ?? engineDefaults.maxTurns;
  if (turns === 0) throw top.wrong("max_turns", "a whole number, 1 or more, or -1 for no cap");
  return turns;
}

function readModel(top: ConfigTable): SystemConfig["model"] {
  const fields = ["max_tokens", "thinking_level", "timeout_ms", "first_content_timeout_ms", "idle_timeout_ms"];
  const table = top.table("model", fields);
  return {
    maxTokens: table?.count("max_tokens", 1),
    thinkingLevel: table?.choice("thinking_level", thinkingLevels),
    timeLimits: {
      totalMs: table?.count("timeout_ms", 1, maxDelayMs) ?? 600_000,
      firstContentMs: table?.count("first_content_timeout_ms", 1, maxDelayMs) ?? 300_000,
      idleMs: table?.count("idle_timeout_ms", 1, maxDelayMs) ?? 120_000,
    },
  };
}

function readCompaction(top: ConfigTable): CompactionSettings {
  const table = top.table("compaction", ["max_context_length", "max_session_turns", "mode", "prompt"]);
  return {
    maxContextLength: table?.count("max_context_length", Number.MIN_SAFE_INTEGER) ?? 128_000,
    maxSessionTurns: table?.count("max_session_turns", Number.MIN_SAFE_INTEGER) ?? -1,
    mode: table?.choice("mode", compactionModes) ?? "summarize",
    prompt: table?.text("prompt") ?? defaultCompactionPrompt,
  };
}
