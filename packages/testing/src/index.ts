/** Parts to test agents with. */
export { fakeEnvironment, type FakeEnvironment, type FakeTool } from "./fake-environment.ts";
export { ManualClock } from "./manual-clock.ts";
export { MemoryTrace, MemoryTraceStore, recordedContexts } from "./memory-trace.ts";
export { scriptedLLM, type ScriptedLLM, type ScriptedReply, type ScriptedStep } from "./scripted-llm.ts";
export {
  type ScriptedEnd,
  type ScriptedLanguageModel,
  scriptedLanguageModel,
  type ScriptedModelStep,
  type ScriptedPart,
} from "./scripted-language-model.ts";
export { replay, type ReplayReport } from "./trace-replay/replay.ts";
export { expectReplays } from "./trace-replay/expect-replays.ts";
export type { ReplayDifference } from "./trace-replay/difference.ts";
export type { SentRequest } from "./trace-replay/recorded-parts.ts";
export { type Feature, features } from "./simulator/features.ts";
export type { Violation } from "./simulator/life.ts";
export type { Observation } from "./simulator/observation.ts";
export { simulate, type SimulateOptions, type Simulation } from "./simulator/simulate.ts";
export { totalNames, type TotalName, type Totals } from "./simulator/totals.ts";
export {
  startWireServer,
  type WireExchange,
  type WireHandler,
  type WireRequest,
  type WireServer,
  type WireServerOptions,
} from "./wire-server.ts";
