/** The public list of the SDK. */
export * from "@coxswain/protocol";
export { ContextEngine, type ContextEngineOptions, type EngineActivity } from "./engine/context-engine.ts";
export { missingRecords, replayTrace } from "./engine/replay.ts";
export { SessionBusyError, UsageError } from "./engine/error.ts";
export { systemClock } from "./engine/system-clock.ts";
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
export type { ExecuteReturn, Tool, ToolContext, ToolResult } from "./environment/tool.ts";
export type { ModelProtocol, ModelSettings, ModelTimeLimits } from "./llm/model-settings.ts";
