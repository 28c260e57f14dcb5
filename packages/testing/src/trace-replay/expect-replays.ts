/** For tests: what a Trace says must come out again. */
import { stat } from "node:fs/promises";
import { FileTraceStore, readContexts, readTraceFile, type RecordedContext } from "@coxswain/core";
import { replay, type ReplayReport } from "./replay.ts";

/**
 * Replays a Trace file, or every Session below a directory of Traces.
 *
 * @returns What came out, one report a Session.
 * @throws Error with the first difference, or with what keeps a Trace from being played again
 */
export async function expectReplays(path: string): Promise<ReplayReport[]> {
  if (!(await stat(path)).isDirectory()) return [await expectSame(path, await readTraceFile(path))];
  const store = new FileTraceStore({ tracesDir: path });
  const reports: ReplayReport[] = [];
  for await (const { sessionId } of store.list()) {
    const contexts: RecordedContext[] = [];
    for await (const context of readContexts(store, sessionId)) contexts.push(context);
    reports.push(await expectSame(sessionId, contexts));
  }
  return reports;
}

async function expectSame(name: string, contexts: readonly RecordedContext[]): Promise<ReplayReport> {
  const report = await replay(contexts);
  if (report.outcome === "same") return report;
  throw new Error(`${name} does not replay to the same: ${report.summary}`);
}
