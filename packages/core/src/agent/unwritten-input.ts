/**
 * A model context whose opening is damaged: its process died while it wrote what the context before had left owed, or
 * its first line cannot be read.
 */
import { isModelMessage, isSessionMeta, type OmniMessage, type SessionMetaPayload } from "@coxswain/protocol";
import type { TraceStore } from "../engine/ports.ts";
import { readContexts } from "../session/contexts.ts";

/**
 * The context before the newest, as far as it is needed to find what still has to be written into the newest.
 *
 * @param newest Its records.
 */
export async function readContextBefore(
  store: TraceStore,
  sessionId: string,
  newest: readonly OmniMessage[],
): Promise<readonly OmniMessage[]> {
  // Nothing is asked of a model before all that it is asked is written: no other context needs to be read.
  if (newest.some(({ payload }) => payload.type === "request_begin")) return [];
  let before: readonly OmniMessage[] = [];
  let last: readonly OmniMessage[] = [];
  for await (const { messages } of readContexts(store, sessionId)) {
    if (!messages.some(isModelMessage)) continue;
    before = last;
    last = messages;
  }
  return before;
}

/** What a Session is holds for all its contexts: the newest that says it. */
export async function readMetaBefore(
  store: TraceStore,
  sessionId: string,
): Promise<OmniMessage<SessionMetaPayload> | undefined> {
  let meta: OmniMessage<SessionMetaPayload> | undefined;
  for await (const { messages } of readContexts(store, sessionId)) meta = messages.find(isSessionMeta) ?? meta;
  return meta;
}
