/** The public list of the SDK. */
export * from "@coxswain/protocol";
export {
  type Agent,
  type AgentOptions,
  createAgent,
  type CreateSessionOptions,
  type EnvironmentContext,
} from "./agent/create-agent.ts";
export type { LanguageModel, ModelContext } from "./agent/model-source.ts";
export { ConfigError, type ConfigErrorCode, type ConfigErrorKind } from "./config/config-error.ts";
export { coxswainHome, type ProjectPaths, projectPaths } from "./config/home.ts";
export { ContextEngine, type ContextEngineOptions, type EngineActivity } from "./engine/context-engine.ts";
export { missingRecords, replayTrace } from "./engine/replay.ts";
export { SessionBusyError, UsageError } from "./engine/error.ts";
export { systemClock } from "./shared/system-clock.ts";
export { engineDefaults } from "./engine/defaults.ts";
export type {
  ApproveFn,
  Clock,
  CompactionSettings,
  EngineState,
  EnvironmentInterface,
  ExecuteToolRequest,
  GenerateParameters,
  LLMInterface,
  LLMOutcome,
  Preview,
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
export type { ModelProtocol, ModelSettings, ModelTimeLimits } from "./llm/model-settings.ts";
export { GenerativeModel, type GenerativeModelOptions } from "./llm/context/generative-model.ts";
export { createChatCompletionsModel } from "./llm/chat-completions/model.ts";
export { createOfflineModel } from "./llm/offline/model.ts";
export { parseScenario, ScenarioError } from "./llm/offline/scenario.ts";
export { createLanguageModel, knownProviders, ModelSupportError } from "./llm/providers.ts";
export { type NoticeListener, Session } from "./session/session.ts";
export type { HistoryOptions } from "./session/history.ts";
export { FileTraceStore, type FileTraceStoreOptions } from "./trace/file-trace-store.ts";
export { TraceError, TraceLockedError } from "./trace/trace-error.ts";
