/** A Trace read back: the live engine's fold, over records of a file. */
import {
  createBuilders,
  isModelMessage,
  isSessionMeta,
  type OmniMessage,
  readTokenCounts,
  type TokenCounts,
} from "@coxswain/protocol";
import { processExitedReason } from "./carry-over.ts";
import { Ledger } from "./ledger.ts";
import type { EngineState } from "./ports.ts";

/** @param messages Records of one model context, in order. Pure. */
export function replayTrace(messages: readonly OmniMessage[]): EngineState {
  return fold(messages).state();
}

export interface TakeUpOptions {
  /** Records of the context before. Default: none. */
  before?: readonly OmniMessage[];
  /** What the Session has used, where the context itself does not tell. */
  usageBefore?: TokenCounts | undefined;
  /** Milliseconds since the epoch. */
  now: () => number;
}

/**
 * A Session as the next process takes it up from its newest context: what must be written before anything else, and the
 * state from which an engine goes on. Pure.
 */
export function takeUp(
  newest: readonly OmniMessage[],
  { before = [], usageBefore, now }: TakeUpOptions,
): { missing: OmniMessage[]; state: EngineState } {
  const missing = [...unwrittenInput(before, newest), ...missingRecords(newest, now)];
  const state = replayTrace([...newest, ...missing]);
  return { missing, state: usageBefore === undefined ? state : { ...state, sessionTokens: usageBefore } };
}

/** What a Session has used, as the newest of its records tells; `undefined` when none does. */
export function newestUsage(contexts: readonly (readonly OmniMessage[])[]): TokenCounts | undefined {
  for (const { payload } of contexts.flat().toReversed()) {
    if (payload.type === "token_usage") return readTokenCounts(payload.session);
  }
  return undefined;
}

/**
 * What a process that died could not write any more: the ends of what it had open, and an `abort` that says why. Empty
 * when nothing was under way, so that resuming twice writes it once.
 *
 * @param now Milliseconds since the epoch.
 */
export function missingRecords(messages: readonly OmniMessage[], now: () => number): OmniMessage[] {
  const { request, compaction, task } = fold(messages).unfinished();
  const build = createBuilders(now);
  const begun = messages.findLast((message) => message.payload.type === "compaction_begin")?.payload;
  const missing: OmniMessage[] = [];
  if (request) missing.push(build.requestEnd("aborted"));
  if (compaction && begun?.type === "compaction_begin") {
    missing.push(build.compactionEnd({ reason: begun.reason, mode: begun.mode, status: "failed" }));
  }
  if (task) missing.push(build.abortEvent(processExitedReason));
  return missing;
}

/**
 * What a model context whose opening was cut does not hold of what the one before it left owed. Empty once a model has
 * been asked: nothing is asked before all that it is asked is written. Pure.
 *
 * @param before Records of the context before, in order.
 * @param opened Records of the context itself, in order.
 */
export function unwrittenInput(before: readonly OmniMessage[], opened: readonly OmniMessage[]): OmniMessage[] {
  if (opened.some(({ payload }) => payload.type === "request_begin")) return [];
  const { fromCompaction, carryOver } = replayTrace(before);
  if (!fromCompaction) return [];
  const written = opened.map(({ payload }) => JSON.stringify(payload));
  return carryOver.filter(({ payload }) => {
    const index = written.indexOf(JSON.stringify(payload));
    // The same may have been said twice.
    if (index !== -1) written.splice(index, 1);
    return index === -1;
  });
}

/** A request as its records imply it. */
export interface ImpliedRequest {
  /** Index of its `request_begin`. */
  index: number;
  purpose: "turn" | "summary";
  input: OmniMessage[];
  /** Outputs in the input were shortened by the engine, and the records do not say how. */
  isCut: boolean;
}

/**
 * What each request of one model context must have sent, in order. Pure.
 *
 * @param initial Of a context that goes on with what its records do not hold.
 */
export function impliedRequests(messages: readonly OmniMessage[], initial?: EngineState): ImpliedRequest[] {
  const ledger = new Ledger(initial);
  const requests: ImpliedRequest[] = [];
  let summary: Pick<ImpliedRequest, "input" | "isCut"> | undefined;
  for (const [index, message] of messages.entries()) {
    const { payload } = message;
    if (payload.type === "compaction_begin") {
      const isCut = ledger.isTurnOpen;
      const refused = ledger.requestInput().filter(({ payload: { type } }) => type === "tool_call_output");
      summary = { input: isCut ? refused : ledger.owedInput(), isCut };
    } else if (payload.type === "compaction_end") {
      summary = undefined;
    } else if (payload.type === "text" && payload.sender === "harness") {
      summary?.input.push(message);
    }
    ledger.apply(message);
    if (payload.type !== "request_begin") continue;
    const { input, isCut } = summary ?? { input: ledger.requestInput(), isCut: false };
    requests.push({ index, purpose: summary === undefined ? "turn" : "summary", input: [...input], isCut });
  }
  return requests;
}

function fold(messages: readonly OmniMessage[]): Ledger {
  const ledger = new Ledger();
  const lastSaid = messages.findLastIndex(isModelMessage);
  for (let index = 0; index < messages.length; index += 1) {
    const message = messages[index];
    if (message === undefined) continue;
    if (index === 0 || !isSessionMeta(message)) ledger.apply(message);
    else if (!ledger.fromCompaction) {
      const copied = copiedFrom(messages, index);
      if (copied === 0) ledger.apply(message);
      else index += copied - 1;
    }
    // A context in which nothing is said has not begun, and the summary of the one before is still to be told.
    else if (index < lastSaid) ledger.apply(message);
  }
  ledger.endImpliedTurn();
  return ledger;
}

/** How many records from here on are the file's first ones once more: it was written, or put together, twice. */
function copiedFrom(messages: readonly OmniMessage[], start: number): number {
  let count = 0;
  while (start + count < messages.length && isSame(messages[start + count], messages[count])) count += 1;
  return count;
}

function isSame(one: OmniMessage | undefined, other: OmniMessage | undefined): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}
