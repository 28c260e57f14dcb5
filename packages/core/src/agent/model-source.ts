/** Where a Session's model contexts come from: the Project's configuration, a model given in code, or a function. */
import { resolve } from "node:path";
import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { OmniMessage, ThinkingLevelName } from "@coxswain/protocol";
import { ConfigError, showValue } from "../config/config-error.ts";
import type { ProjectConfig } from "../config/project-config.ts";
import { resolveModel } from "../config/resolve-model.ts";
import type { SystemConfig } from "../config/system-config.ts";
import type { Clock, LLMInterface } from "../engine/ports.ts";
import { knownModel } from "../llm/catalogue/known-model.ts";
import { GenerativeModel } from "../llm/context/generative-model.ts";
import { createLanguageModel, type CreateLanguageModelOptions } from "../llm/create-language-model.ts";
import type { ModelSettings, ModelTimeLimits } from "../llm/model-settings.ts";
import { ModelSupportError } from "../llm/model-support-error.ts";
import { wordsOf } from "../shared/error-words.ts";
import { checkModel } from "./check-options.ts";

/** An offline model whose name is a path, or ends as YAML does, is a scenario. */
const scenarioName = /^\/|\.ya?ml$/;

/** Any model of the AI SDK's provider interface. */
export type LanguageModel = LanguageModelV3;

/** What a model context begins with. */
export interface ModelContext {
  sessionId: string;
  systemPrompt: string;
  /** Committed turns of the context; empty for a new one. */
  history: OmniMessage[];
}

export interface ModelSource {
  provider: string;
  modelId: string;
  /** Tokens; 0 when unknown. */
  contextWindow: number;
  /** Tokens of one answer, when known. */
  maxOutputTokens: number | undefined;
  warnings: string[];
  open(context: ModelContext): LLMInterface;
}

export interface ModelSourceOptions {
  given: LanguageModel | ((context: ModelContext) => LLMInterface) | undefined;
  provider: string | undefined;
  modelId: string | undefined;
  projectConfig: ProjectConfig;
  systemConfig: SystemConfig;
  clock: Clock;
  env: Readonly<Record<string, string | undefined>>;
}

/** @throws ConfigError */
export async function modelSource(options: ModelSourceOptions): Promise<ModelSource> {
  const { given, systemConfig } = options;
  const { maxTokens, thinkingLevel, timeLimits } = systemConfig.model;
  if (typeof given === "function") {
    return {
      provider: options.provider ?? "custom",
      modelId: options.modelId ?? "custom",
      contextWindow: 0,
      maxOutputTokens: maxTokens,
      warnings: [],
      open: (context) => withThinkingLevel(checkModel(given(context)), thinkingLevel),
    };
  }
  const base = { clock: options.clock, limits: timeLimits, thinkingLevel };
  if (given !== undefined) {
    const contextWindow = (await knownModel(given)?.contextWindow()) ?? 0;
    return {
      provider: given.provider,
      modelId: given.modelId,
      contextWindow,
      maxOutputTokens: maxTokens,
      warnings: [],
      open: opener({ ...base, model: given, contextWindow, maxOutputTokens: maxTokens }),
    };
  }
  const { provider, modelId, projectConfig, env } = options;
  const { settings: found, warnings } = await resolveModel({ projectConfig, provider, modelId, env });
  // A resume may begin in another directory.
  const isScenario = found.protocol === "offline" && scenarioName.test(found.modelId);
  const scenarioPath = isScenario ? resolve(found.modelId) : undefined;
  const settings = { ...found, modelId: scenarioPath ?? found.modelId };
  const maxOutputTokens = settings.maxOutputTokens ?? maxTokens;
  const model = await openLanguageModel(settings, { clock: options.clock, limits: timeLimits, env, scenarioPath });
  return {
    provider: settings.provider,
    modelId: settings.modelId,
    contextWindow: settings.contextWindow,
    maxOutputTokens,
    warnings,
    open: opener({ ...base, model, contextWindow: settings.contextWindow, maxOutputTokens, vision: settings.vision }),
  };
}

async function openLanguageModel(settings: ModelSettings, options: CreateLanguageModelOptions): Promise<LanguageModel> {
  try {
    return await createLanguageModel(settings, options);
  } catch (error) {
    if (error instanceof ModelSupportError) throw new ConfigError("unsupported", error.message, { cause: error });
    if (options.scenarioPath === undefined) throw error;
    const words = `the scenario ${showValue(options.scenarioPath)} cannot be used: ${wordsOf(error)}`;
    throw new ConfigError("invalid_value", words, { cause: error });
  }
}

interface OpenerOptions {
  model: LanguageModel;
  limits: ModelTimeLimits;
  clock: Clock;
  contextWindow: number;
  maxOutputTokens: number | undefined;
  vision?: boolean | undefined;
  thinkingLevel: ThinkingLevelName | undefined;
}

function opener({ thinkingLevel, ...options }: OpenerOptions): ModelSource["open"] {
  return ({ sessionId, systemPrompt, history }) =>
    withThinkingLevel(new GenerativeModel({ ...options, systemPrompt, history, cacheKey: sessionId }), thinkingLevel);
}

/** The configured level holds for requests that name none. */
function withThinkingLevel(llm: LLMInterface, level: ThinkingLevelName | undefined): LLMInterface {
  if (level === undefined) return llm;
  return {
    streamGenerate: (parameters) =>
      llm.streamGenerate({ ...parameters, thinkingLevel: parameters.thinkingLevel ?? level }),
  };
}
