/** Parts to test agents with. */
export { fakeEnvironment, type FakeEnvironment, type FakeTool } from "./fake-environment.ts";
export { ManualClock } from "./manual-clock.ts";
export { MemoryTrace, MemoryTraceStore } from "./memory-trace.ts";
export { scriptedLLM, type ScriptedLLM, type ScriptedReply, type ScriptedStep } from "./scripted-llm.ts";
