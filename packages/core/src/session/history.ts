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
  for (let context = 1; ; context += 1) {
    const contents = await readContext(store, sessionId, context);
    if (contents === undefined) return seen;
    seen.push(...contents.filter(isSeen));
  }
}

async function readContext(store: TraceStore, sessionId: string, context: number): Promise<OmniMessage[] | undefined> {
  try {
    return (await store.read(sessionId, { context })).messages;
  } catch (error) {
    // The first context is always there; a later one that is not ends the Session.
    if (context === 1) throw error;
    return undefined;
  }
}

/** Our own prompts are the model's alone. */
function isSeen(message: OmniMessage): boolean {
  if (isSessionMeta(message)) return false;
  return message.payload.type !== "text" || message.payload.sender !== "harness";
}
