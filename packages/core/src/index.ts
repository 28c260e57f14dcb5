/** The public list of the SDK. */
export * from "@coxswain/protocol";
export {
  type Agent,
  type AgentOptions,
  createAgent,
  type CreateSessionOptions,
  type EnvironmentContext,
} from "./agent/create-agent.ts";
export type { ExportedSession, ExportOptions } from "./agent/export-session.ts";
export type { ForkOptions } from "./agent/fork-session.ts";
export {
  type LanguageModel,
  type ModelContext,
  type ModelSource,
  modelSource,
  type ModelSourceOptions,
} from "./agent/model-source.ts";
export { ConfigError, type ConfigErrorCode, type ConfigErrorKind } from "./config/config-error.ts";
export {
  describeModels,
  type DescribedValue,
  type DescribeModelsOptions,
  type ModelDescription,
  type ValueOrigin,
} from "./config/describe-models.ts";
export { type ModelEdit, removeModel, setDefaultModel, setModel } from "./config/edit-project-config.ts";
export { coxswainHome, type ProjectPaths, projectPaths } from "./config/home.ts";
export { type ModelChange, type PlannedModel, planModel } from "./config/model-change.ts";
export { type KeyOrigin, keyOrigin } from "./config/model-key.ts";
export {
  loadProjectConfig,
  type ModelEntry,
  type ModelName,
  type ModelPricing,
  type ProjectConfig,
} from "./config/project-config.ts";
export { loadSystemConfig, type SystemConfig } from "./config/system-config.ts";
export { ContextEngine, type ContextEngineOptions, type EngineActivity } from "./engine/context-engine.ts";
export {
  type ImpliedRequest,
  impliedRequests,
  missingRecords,
  newestUsage,
  replayTrace,
  takeUp,
  type TakeUpOptions,
  unwrittenInput,
} from "./engine/replay.ts";
export { SessionBusyError, UsageError } from "./engine/error.ts";
export { systemClock } from "./shared/system-clock.ts";
export { engineDefaults } from "./engine/defaults.ts";
export type {
  ApproveFn,
  Clock,
  CompactionSettings,
  EngineState,
  BackgroundReport,
  EnvironmentInterface,
  ExecuteToolRequest,
  GenerateParameters,
  LLMInterface,
  LLMOutcome,
  Preview,
  RecordedContext,
  RunOptions,
  SessionSummary,
  TraceContents,
  TraceSink,
  TraceStore,
} from "./engine/ports.ts";
export { builtInTools } from "./environment/built-in-tools.ts";
export { defineTool, type ToolSpecification } from "./environment/define-tool.ts";
export { LocalEnvironment, type LocalEnvironmentOptions } from "./environment/local-environment.ts";
export type { Tool, ToolContext, ToolResult } from "./environment/tool.ts";
export { knownModel, type KnownModel } from "./llm/catalogue/known-model.ts";
export {
  mergePrices,
  modelCost,
  type ModelPrices,
  type TieredPrice,
  type TokenPrice,
} from "./llm/catalogue/model-cost.ts";
export {
  type AddressedSettings,
  modelProtocols,
  type ModelProtocol,
  type ModelSettings,
  type ModelTimeLimits,
} from "./llm/model-settings.ts";
export { GenerativeModel, type GenerativeModelOptions } from "./llm/context/generative-model.ts";
export { createChatCompletionsModel } from "./llm/chat-completions/model.ts";
export { createLanguageModel } from "./llm/create-language-model.ts";
export { ModelSupportError } from "./llm/model-support-error.ts";
export { type KnownProvider, knownProviders } from "./llm/provider/known-providers.ts";
export { type NoticeListener, Session } from "./session/session.ts";
export { readContexts } from "./session/contexts.ts";
export type { HistoryOptions } from "./session/history.ts";
export { createRecordEncoder, type DecodedLine, decodeLine, type RecordEncoder } from "./trace/codec.ts";
export { FileTraceStore, type FileTraceStoreOptions } from "./trace/file-trace-store.ts";
export type { Scrubbed } from "./trace/scrub.ts";
export { readTraceFile } from "./trace/read-trace-file.ts";
export { TraceError, TraceLockedError } from "./trace/trace-error.ts";
