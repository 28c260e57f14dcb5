/** Parts to test agents with. */
export { fakeEnvironment, type FakeEnvironment, type FakeTool } from "./fake-environment.ts";
export { ManualClock } from "./manual-clock.ts";
export { MemoryTrace, MemoryTraceStore } from "./memory-trace.ts";
export { scriptedLLM, type ScriptedLLM, type ScriptedReply, type ScriptedStep } from "./scripted-llm.ts";
export {
  type ScriptedEnd,
  type ScriptedLanguageModel,
  scriptedLanguageModel,
  type ScriptedModelStep,
  type ScriptedPart,
} from "./scripted-language-model.ts";
export {
  startWireServer,
  type WireExchange,
  type WireHandler,
  type WireRequest,
  type WireServer,
  type WireServerOptions,
} from "./wire-server.ts";
