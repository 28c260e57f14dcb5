/** What happened, counted from messages: the same count of what was seen and of what was recorded. */
import { isPartial, isPayload, isSessionMeta, type OmniMessage, readSteering } from "@coxswain/protocol";

export interface Tally {
  /** Lines of the Trace, but for those that nobody is shown. */
  records: number;
  requests: number;
  reconnects: number;
  steers: number;
  interrupts: number;
  compactions: number;
  /** By name. */
  toolCalls: Record<string, number>;
  toolOutputs: number;
  /** Of the outputs. */
  failed: number;
  /** The most that ran at the same time. */
  atOnce: number;
  allowed: number;
  denied: number;
  /** Of the whole Session. */
  tokens: number;
}

export function tally(messages: readonly OmniMessage[]): Tally {
  const counter = new Counter();
  for (const message of messages) {
    if (!isPartial(message) && message.origin === undefined && !isUnseen(message)) counter.add(message);
  }
  return counter.counts;
}

/** The head of each file, and what a compaction says to the model, are written and not shown. */
function isUnseen(message: OmniMessage): boolean {
  return isSessionMeta(message) || (isPayload(message, "text") && message.payload.sender === "harness");
}

class Counter {
  readonly counts: Tally = {
    records: 0,
    requests: 0,
    reconnects: 0,
    steers: 0,
    interrupts: 0,
    compactions: 0,
    toolCalls: {},
    toolOutputs: 0,
    failed: 0,
    atOnce: 0,
    allowed: 0,
    denied: 0,
    tokens: 0,
  };
  readonly #running = new Set<string>();

  add(message: OmniMessage): void {
    const { counts } = this;
    counts.records += 1;
    if (isPayload(message, "request_begin")) counts.requests += 1;
    else if (isPayload(message, "request_end")) counts.reconnects += message.payload.retry_in_ms === undefined ? 0 : 1;
    else if (isPayload(message, "token_usage")) counts.tokens = message.payload.session.total;
    else if (isPayload(message, "abort")) counts.interrupts += 1;
    else if (isPayload(message, "compaction_end")) counts.compactions += message.payload.status === "completed" ? 1 : 0;
    else if (isPayload(message, "text")) {
      const { role, text } = message.payload;
      counts.steers += role === "user" && readSteering(text) !== undefined ? 1 : 0;
    } else this.#addOfTool(message);
  }

  #addOfTool(message: OmniMessage): void {
    const { counts } = this;
    if (isPayload(message, "tool_call")) {
      const { name } = message.payload;
      counts.toolCalls[name] = (counts.toolCalls[name] ?? 0) + 1;
    } else if (isPayload(message, "approval_decision")) {
      const isAllowed = message.payload.decision === "allow";
      if (isAllowed) this.#running.add(message.payload.tool_call_id);
      counts[isAllowed ? "allowed" : "denied"] += 1;
      counts.atOnce = Math.max(counts.atOnce, this.#running.size);
    } else if (isPayload(message, "tool_call_output")) {
      this.#running.delete(message.payload.tool_call_id);
      counts.toolOutputs += 1;
      counts.failed += message.payload.stop_reason === "failed" ? 1 : 0;
    }
  }
}

/** What differs, in words; nothing when both say the same. */
export function differences(seen: Tally, recorded: Tally): string[] {
  return (Object.keys(seen) as (keyof Tally)[])
    .filter((name) => JSON.stringify(seen[name]) !== JSON.stringify(recorded[name]))
    .map((name) => `${name}: seen ${JSON.stringify(seen[name])}, recorded ${JSON.stringify(recorded[name])}`);
}
