/** What a reader of a Session has seen, taken from its records. */
import { isModelMessage, isPartial, isSessionMeta, type OmniMessage, readContextSummary } from "@coxswain/protocol";
import { replayTrace } from "../engine/replay.ts";

export interface HistoryOptions {
  /** Index of the first message that is not given; 0 is the oldest message of the Session. Default: no bound. */
  before?: number | undefined;
  /** Messages at most, the newest of them. Default: all. */
  limit?: number | undefined;
}

/** The records of all model contexts, oldest first. */
export type RecordedMessages =
  | AsyncIterable<{ messages: readonly OmniMessage[] }>
  | Iterable<{ messages: readonly OmniMessage[] }>;

export async function* readHistory(
  contexts: RecordedMessages,
  options: HistoryOptions = {},
): AsyncIterable<OmniMessage> {
  const all = await seenInAll(contexts);
  const end = Math.min(wholeNumber(options.before, all.length), all.length);
  const start = Math.max(0, end - wholeNumber(options.limit, end));
  yield* all.slice(start, end);
}

/** What is no number bounds nothing. */
function wholeNumber(value: number | undefined, otherwise: number): number {
  return value === undefined || Number.isNaN(value) ? otherwise : Math.max(0, Math.floor(value));
}

async function seenInAll(contexts: RecordedMessages): Promise<OmniMessage[]> {
  const seen: OmniMessage[] = [];
  let before: readonly OmniMessage[] = [];
  for await (const { messages } of contexts) {
    for (const message of withoutOpening(messages, before)) if (isSeen(message)) seen.push(message);
    // One that was given up while it was opened repeats nothing: the next one does.
    if (messages.some(isModelMessage)) before = messages;
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
