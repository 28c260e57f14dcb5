/** What a compiler would have said of a host's options, and more: before anything is opened or written. */
import { compactionModes } from "@coxswain/protocol";
import { isAbsolute } from "node:path";
import { nearestName } from "../config/config-error.ts";
import { showValue, UsageError } from "../engine/error.ts";
import type { CompactionSettings } from "../engine/ports.ts";
import type { AgentOptions, CreateSessionOptions } from "./create-agent.ts";

/** Whether a value is one, and what is allowed. */
type Rule = readonly [isRight: (value: unknown) => boolean, allowed: string];

const isText = (value: unknown): boolean => typeof value === "string";
const isFunction = (value: unknown): boolean => typeof value === "function";
const isNumber = (value: unknown): boolean => typeof value === "number" && !Number.isNaN(value);

const agentRules: Record<keyof AgentOptions, Rule> = {
  agentId: [isText, "a text"],
  projectId: [isText, "a text"],
  home: [(value) => typeof value === "string" && isAbsolute(value), "an absolute path"],
  model: [
    (value) => isFunction(value) || hasMethods(value, ["doStream"]),
    "a LanguageModelV3 or a function (context) => LLMInterface",
  ],
  tools: [Array.isArray, "a list of tools"],
  environment: [isFunction, "a function (context) => EnvironmentInterface"],
  systemPrompt: [isText, "a text"],
  compaction: [isRecord, "an object such as { maxContextLength: 100_000 }"],
  maxTurns: [
    (value) => value === -1 || (Number.isSafeInteger(value) && Number(value) >= 1),
    "a whole number, 1 or more, or -1 for no cap",
  ],
  trace: [
    (value) => value === false || hasMethods(value, ["open", "read", "list"]),
    "false for none, or a TraceStore with open, read and list",
  ],
};

const compactionRules: Record<keyof CompactionSettings, Rule> = {
  maxContextLength: [isNumber, "a number of tokens, or 0 for no limit"],
  maxSessionTurns: [isNumber, "a number of turns, or -1 for no limit"],
  mode: [(value) => compactionModes.some((mode) => mode === value), `one of ${compactionModes.join(", ")}`],
  prompt: [isText, "the text that asks for a summary"],
};

const sessionRules: Record<keyof CreateSessionOptions, Rule> = {
  workspaceDir: [isText, "the path of a directory"],
  provider: [isText, "a text"],
  modelId: [isText, "a text"],
};

/** @throws UsageError that names the option, its value, and what is allowed */
export function checkAgentOptions(options: AgentOptions): void {
  check("createAgent", "", options, agentRules);
  const { tools = [], compaction } = options;
  if (compaction !== undefined) check("createAgent", "compaction.", compaction, compactionRules);
  const wrong = tools.findIndex((tool) => typeof tool?.definition?.name !== "string");
  if (wrong !== -1) throw new UsageError(`tools[${wrong}] is no tool; make it with defineTool`);
}

/** @throws UsageError */
export function checkSessionOptions(options: CreateSessionOptions): void {
  check("createSession", "", options, sessionRules);
}

/** What is `undefined` is left out. */
function check(caller: string, prefix: string, options: unknown, rules: Readonly<Record<string, Rule>>): void {
  if (!isRecord(options)) throw new UsageError(`the options of ${caller} must be an object, not ${showValue(options)}`);
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined) continue;
    const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
    if (rule === undefined) throw new UsageError(unknownWords(caller, prefix, name, Object.keys(rules)));
    const [isRight, allowed] = rule;
    if (!isRight(value)) throw new UsageError(`${prefix}${name} is ${showValue(value)}, but must be ${allowed}`);
  }
}

function unknownWords(caller: string, prefix: string, name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  const hint = nearest === undefined ? `there are ${known.join(", ")}` : `did you mean ${prefix}${nearest}?`;
  return `${caller} has no option ${showValue(prefix + name)}; ${hint}`;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return typeof value === "object" && value !== null && names.every((name) => isFunction(Reflect.get(value, name)));
}
