/** What a reader of a Session has seen, taken from its Trace. */
import { isSessionMeta, type OmniMessage } from "@coxswain/protocol";
import type { TraceStore } from "../engine/ports.ts";

export interface HistoryOptions {
  /** Index of the first message that is not given; 0 is the oldest message of the Session. Default: no bound. */
  before?: number | undefined;
  /** Messages at most, the newest of them. Default: all. */
  limit?: number | undefined;
}

/** @param unrecorded Given when no Trace is kept. */
export async function* readHistory(
  store: TraceStore | undefined,
  sessionId: string,
  unrecorded: readonly OmniMessage[],
  options: HistoryOptions,
): AsyncIterable<OmniMessage> {
  const all = store === undefined ? [...unrecorded] : await readAllContexts(store, sessionId);
  const end = Math.min(options.before ?? all.length, all.length);
  const start = options.limit === undefined ? 0 : Math.max(0, end - options.limit);
  yield* all.slice(start, end);
}

async function readAllContexts(store: TraceStore, sessionId: string): Promise<OmniMessage[]> {
  const seen: OmniMessage[] = [];
  for await (const messages of eachContext(store, sessionId)) {
    for (const message of messages) if (isSeen(message)) seen.push(message);
  }
  return seen;
}

async function* eachContext(store: TraceStore, sessionId: string): AsyncIterable<OmniMessage[]> {
  if (store.contexts !== undefined) {
    for (const context of await store.contexts(sessionId)) yield (await store.read(sessionId, { context })).messages;
    return;
  }
  for (let context = 1; ; context += 1) {
    const contents = await store.read(sessionId, { context }).catch((error: unknown) => {
      // The first one is always there; a later one that is not ends the Session.
      if (context === 1) throw error;
    });
    if (contents === undefined) return;
    yield contents.messages;
  }
}

/** Our own prompts are the model's alone. */
function isSeen(message: OmniMessage): boolean {
  if (isSessionMeta(message)) return false;
  return message.payload.type !== "text" || message.payload.sender !== "harness";
}
