/**
 * Every Trace that an engine writes in a test is played again and compared whole, or the test says by name why it
 * cannot be. What is in memory is played by itself once the test is over; of files somebody has to say where they are.
 */
import { existsSync } from "node:fs";
import type { ContextEngineOptions, RecordedContext } from "@coxswain/core";
import type { MemoryTrace } from "@coxswain/testing";
import { expect } from "vitest";

/** In memory, and not played yet. */
const inMemory = new Set<MemoryTrace>();
/** Sessions in files that an engine of this process has written to, and the test that did. */
const inFiles = new Map<string, string>();
/** Directories that other processes write to. */
const watched = new Set<string>();
const played = new Set<string>();
/** Session ids and Traces in memory, and why they cannot be played. */
const named = new Map<string | MemoryTrace, string>();

/** An engine with these parts begins to write. Sinks that are objects of a test are its own: it plays what they hold. */
export function engineRuns({ trace, sessionMeta }: ContextEngineOptions): void {
  if (trace === undefined || Object.getPrototypeOf(trace) === Object.prototype) return;
  if ("contexts" in trace) inMemory.add(trace as MemoryTrace);
  else if (sessionMeta?.type === "session_meta") {
    inFiles.set(sessionMeta.payload.session_id, expect.getState().currentTestName ?? "no test");
  }
}

/** @param trace One in memory, or the id of its Session. */
export function notPlayed(trace: MemoryTrace | string, reason: string): void {
  named.set(trace, reason);
}

/** Other processes will write Traces here; they must be played before the tests of this file are over. */
export function watchTraces(tracesDir: string): void {
  watched.add(tracesDir);
}

/** Plays every Session below a directory of Traces. */
export async function playTraces(tracesDir: string): Promise<void> {
  watched.delete(tracesDir);
  if (!existsSync(tracesDir)) return;
  const { FileTraceStore, readContexts } = await import("@coxswain/core");
  const store = new FileTraceStore({ tracesDir });
  for await (const { sessionId } of store.list()) {
    const contexts: RecordedContext[] = [];
    for await (const context of readContexts(store, sessionId)) contexts.push(context);
    await play(contexts, named.get(sessionId));
    played.add(sessionId);
    named.delete(sessionId);
  }
}

/** Plays what the engines of a test have left in memory. */
export async function playMemoryTraces(): Promise<void> {
  const traces = [...inMemory];
  inMemory.clear();
  if (traces.length === 0) return;
  const { recordedContexts } = await import("@coxswain/testing");
  for (const trace of traces) await play(recordedContexts(trace.contexts), named.get(trace));
}

/** @throws Error naming the first Traces that nobody has played or named */
export function expectAllPlayed(): void {
  const missing = [...inFiles].filter(([id]) => !played.has(id) && !named.has(id));
  const places = [...missing.map(([id, test]) => `${id} of "${test}"`), ...watched];
  watched.clear();
  inFiles.clear();
  if (places.length === 0) return;
  throw new Error(`Traces that were not played again: ${places.slice(0, 5).join(", ")}; use playTraces, or notPlayed`);
}

async function play(contexts: readonly RecordedContext[], reason: string | undefined): Promise<void> {
  const { replay } = await import("@coxswain/testing");
  const { outcome, summary } = await replay(contexts);
  if (reason === undefined) expect(summary).toMatch(/: the same$/);
  else expect(outcome, `it can be played again, so it needs no reason (${reason})`).not.toBe("same");
}
