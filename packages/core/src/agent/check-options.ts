/**
 * What a compiler would have said of a host's options, and more: before anything is opened or written. What is given back
 * is a copy: what a host changes later is not this agent's.
 */
import { compactionModes } from "@coxswain/protocol";
import { isAbsolute } from "node:path";
import { nearestName } from "../config/config-error.ts";
import { showValue, UsageError } from "../engine/error.ts";
import type { CompactionSettings, EnvironmentInterface, LLMInterface } from "../engine/ports.ts";
import type { AgentOptions, CreateSessionOptions } from "./create-agent.ts";
import type { ExportOptions } from "./export-session.ts";
import type { ForkOptions } from "./fork-session.ts";

/** Whether a value is one, and what is allowed. */
type Rule = readonly [isRight: (value: unknown) => boolean, allowed: string];

const isText = (value: unknown): boolean => typeof value === "string";
const isFunction = (value: unknown): boolean => typeof value === "function";
const isFlag = (value: unknown): boolean => typeof value === "boolean";
const isCount = (value: unknown): boolean => Number.isSafeInteger(value) && Number(value) >= 1;
const isLimit = (value: unknown): boolean => Number.isSafeInteger(value) || value === Number.POSITIVE_INFINITY;

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
  maxTurns: [(value) => value === -1 || isCount(value), "a whole number, 1 or more, or -1 for no cap"],
  trace: [
    (value) => value === false || hasMethods(value, ["open", "read", "list"]),
    "false for none, or a TraceStore with open, read and list",
  ],
};

const compactionRules: Record<keyof CompactionSettings, Rule> = {
  maxContextLength: [isLimit, "a whole number of tokens, or 0 or less for no limit"],
  maxSessionTurns: [isLimit, "a whole number of turns, or 0 or less for no limit"],
  mode: [(value) => compactionModes.some((mode) => mode === value), `one of ${compactionModes.join(", ")}`],
  prompt: [isText, "the text that asks for a summary"],
};

const sessionRules: Record<keyof CreateSessionOptions, Rule> = {
  workspaceDir: [isText, "the path of a directory"],
  provider: [isText, "a text"],
  modelId: [isText, "a text"],
};

const forkRules: Record<keyof ForkOptions, Rule> = {
  turn: [isCount, "a whole number, 1 or more"],
  context: [isCount, "a whole number, 1 or more"],
};

const exportRules: Record<keyof ExportOptions, Rule> = {
  media: [isFlag, "true to keep images and inline data, or false"],
  fidelity: [isFlag, "true to keep opaque data of providers, or false"],
};

const toolMethods = ["validate", "execute"];
const modelMethods = ["streamGenerate"];
const environmentMethods = ["listTools", "executeTool", "toolPermission"];

/** @throws UsageError that names the option, its value, and what is allowed */
export function readAgentOptions(options: AgentOptions): AgentOptions {
  const read = check("createAgent", "", options, agentRules);
  const { tools, compaction } = read;
  const wrong = tools?.findIndex((tool) => !isTool(tool)) ?? -1;
  if (wrong !== -1) throw new UsageError(`tools[${wrong}] is no tool; make it with defineTool`);
  return {
    ...read,
    tools: tools && [...tools],
    compaction:
      compaction && check<Partial<CompactionSettings>>("createAgent", "compaction.", compaction, compactionRules),
  };
}

/** @throws UsageError */
export function readSessionOptions(options: CreateSessionOptions): CreateSessionOptions {
  return check("createSession", "", options, sessionRules);
}

/** @throws UsageError */
export function readForkOptions(options: ForkOptions): ForkOptions {
  return check("forkSession", "", options, forkRules);
}

/** @throws UsageError */
export function readExportOptions(options: ExportOptions): ExportOptions {
  return check("exportSession", "", options, exportRules);
}

/** What a host's function gave. @throws UsageError */
export function checkEnvironment(environment: EnvironmentInterface): EnvironmentInterface {
  return checkMade("environment", environment, environmentMethods);
}

/** What a host's function gave. @throws UsageError */
export function checkModel(llm: LLMInterface): LLMInterface {
  return checkMade("model", llm, modelMethods);
}

function checkMade<Made>(option: string, made: Made, methods: readonly string[]): Made {
  if (hasMethods(made, methods)) return made;
  const [last, ...others] = methods.toReversed();
  const names = others.length === 0 ? last : `${others.toReversed().join(", ")} and ${last}`;
  throw new UsageError(`the function ${option} gave ${showValue(made)}, but must give an object with ${names}`);
}

function isTool(tool: unknown): boolean {
  if (!hasMethods(tool, toolMethods)) return false;
  const definition: unknown = Reflect.get(Object(tool), "definition");
  return isRecord(definition) && typeof definition.name === "string";
}

/** What is `undefined` is left out. */
function check<Options extends object>(
  caller: string,
  prefix: string,
  options: Options,
  rules: Readonly<Record<keyof Options & string, Rule>>,
): Options {
  if (!isRecord(options)) throw new UsageError(`the options of ${caller} must be an object, not ${showValue(options)}`);
  const known = Object.keys(rules);
  const unknown = Object.keys(options).find((name) => options[name] !== undefined && !known.includes(name));
  if (unknown !== undefined) throw new UsageError(unknownWords(caller, prefix, unknown, known));
  const read: Record<string, unknown> = {};
  for (const [name, [isRight, allowed]] of Object.entries<Rule>(rules)) {
    const value = options[name];
    if (value === undefined) continue;
    if (!isRight(value)) throw new UsageError(`${prefix}${name} is ${showValue(value)}, but must be ${allowed}`);
    read[name] = value;
  }
  return read as Options;
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
