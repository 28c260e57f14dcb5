/** The Trace that somebody names: a file, or a Session by its id. */
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { FileTraceStore, readContexts, readTraceFile, type RecordedContext } from "@coxswain/core";
import { type AgentChoice, pathsOf } from "./open-session.ts";

export interface NamedTrace {
  /** As it was given. */
  name: string;
  contexts: RecordedContext[];
}

/** @throws TraceError when there is no such Trace */
export async function openTrace(choice: AgentChoice, name: string): Promise<NamedTrace> {
  const isPath = name.includes("/") || name.endsWith(".jsonl") || (await isFile(name));
  if (isPath) return { name, contexts: await readTraceFile(resolve(name)) };
  const contexts: RecordedContext[] = [];
  for await (const context of readContexts(traceStore(choice), name)) contexts.push(context);
  return { name, contexts };
}

export function traceStore(choice: AgentChoice): FileTraceStore {
  return new FileTraceStore({ tracesDir: pathsOf(choice).tracesDir });
}

async function isFile(path: string): Promise<boolean> {
  return stat(path).then(
    (stats) => stats.isFile(),
    () => false,
  );
}
