/** What a reader of a Session has seen, taken from its Trace. */
import { isPartial, isSessionMeta, type OmniMessage, readContextSummary } from "@coxswain/protocol";
import type { TraceStore } from "../engine/ports.ts";
import { replayTrace } from "../engine/replay.ts";
import { readContexts } from "./contexts.ts";

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
  options: HistoryOptions = {},
): AsyncIterable<OmniMessage> {
  const all = store === undefined ? unrecorded.filter(isSeen) : await readAllContexts(store, sessionId);
  const end = Math.min(wholeNumber(options.before, all.length), all.length);
  const start = Math.max(0, end - wholeNumber(options.limit, end));
  yield* all.slice(start, end);
}

/** What is no number bounds nothing. */
function wholeNumber(value: number | undefined, otherwise: number): number {
  return value === undefined || Number.isNaN(value) ? otherwise : Math.max(0, Math.floor(value));
}

async function readAllContexts(store: TraceStore, sessionId: string): Promise<OmniMessage[]> {
  const seen: OmniMessage[] = [];
  let before: readonly OmniMessage[] = [];
  for await (const { messages } of readContexts(store, sessionId)) {
    for (const message of withoutOpening(messages, before)) if (isSeen(message)) seen.push(message);
    before = messages;
  }
  return seen;
}

/** A context begins with the summary, and with what the one before still owed: that has been seen there. */
function withoutOpening(messages: readonly OmniMessage[], before: readonly OmniMessage[]): OmniMessage[] {
  const { fromCompaction, pendingSummary, carryOver } = replayTrace(before);
  let repeated = fromCompaction ? carryOver.length : 0;
  let hasSummary = fromCompaction && pendingSummary !== undefined;
  return messages.filter((message, index) => {
    if (isOldPrompt(messages[index - 1], message)) return false;
    if (message.type !== "model_msg") return true;
    // Older writers do not say who put the summary there.
    const isOurs = hasSummary && isSummary(message);
    hasSummary = false;
    if (isOurs) return false;
    repeated -= 1;
    return repeated < 0;
  });
}

/** The prompt of a compaction is ours, whatever sender an older writer has named. */
function isOldPrompt(before: OmniMessage | undefined, { payload }: OmniMessage): boolean {
  return before?.payload.type === "compaction_begin" && payload.type === "text" && payload.role === "user";
}

function isSummary({ payload }: OmniMessage): boolean {
  return payload.type === "text" && payload.role === "user" && readContextSummary(payload.text) !== undefined;
}

/** Our own prompts are the model's alone. */
function isSeen(message: OmniMessage): boolean {
  if (isSessionMeta(message) || isPartial(message)) return false;
  return message.payload.type !== "text" || message.payload.sender !== "harness";
}
