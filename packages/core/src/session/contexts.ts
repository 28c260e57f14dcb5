/** All model contexts of a Session, whatever its store can do. */
import type { RecordedContext, TraceStore } from "../engine/ports.ts";

/** Oldest first. @throws What the store throws when there is no such Session. */
export async function* readContexts(store: TraceStore, sessionId: string): AsyncIterable<RecordedContext> {
  if (store.contexts !== undefined) {
    const known = await store.contexts(sessionId);
    // Says that there is no such Session.
    if (known.length === 0) await store.read(sessionId);
    for (const context of known) yield await readContext(store, sessionId, context);
    return;
  }
  for (let context = 1; ; context += 1) {
    const read = await readContext(store, sessionId, context).catch((error: unknown) => {
      // The first one is always there; a later one that is not ends the Session.
      if (context === 1) throw error;
    });
    if (read === undefined) return;
    yield read;
  }
}

async function readContext(store: TraceStore, sessionId: string, context: number): Promise<RecordedContext> {
  const contents = await store.read(sessionId, { context });
  const { messages, skippedLines } = contents;
  const gaps = skippedLines.map((line, before) => Math.min(messages.length, line - 1 - before));
  return { ...contents, context, gaps };
}
