/** What happened, counted from messages: the same count of what was seen and of what was recorded. */
import { isPartial, isPayload, type OmniMessage } from "@coxswain/protocol";

export interface Tally {
  /** Lines of the Trace. */
  records: number;
  requests: number;
  reconnects: number;
  /** By name. */
  toolCalls: Record<string, number>;
  toolOutputs: number;
  /** The most that ran at the same time. */
  atOnce: number;
  allowed: number;
  denied: number;
  /** Of the whole Session. */
  tokens: number;
}

export function tally(messages: readonly OmniMessage[]): Tally {
  const counts: Tally = {
    records: 0,
    requests: 0,
    reconnects: 0,
    toolCalls: {},
    toolOutputs: 0,
    atOnce: 0,
    allowed: 0,
    denied: 0,
    tokens: 0,
  };
  const running = new Set<string>();
  for (const message of messages) {
    if (isPartial(message) || message.origin !== undefined) continue;
    counts.records += 1;
    if (isPayload(message, "request_begin")) counts.requests += 1;
    else if (isPayload(message, "request_end")) counts.reconnects += message.payload.retry_in_ms === undefined ? 0 : 1;
    else if (isPayload(message, "token_usage")) counts.tokens = message.payload.session.total;
    else if (isPayload(message, "tool_call")) {
      const { name } = message.payload;
      counts.toolCalls[name] = (counts.toolCalls[name] ?? 0) + 1;
    } else if (isPayload(message, "approval_decision")) {
      const isAllowed = message.payload.decision === "allow";
      if (isAllowed) running.add(message.payload.tool_call_id);
      counts[isAllowed ? "allowed" : "denied"] += 1;
      counts.atOnce = Math.max(counts.atOnce, running.size);
    } else if (isPayload(message, "tool_call_output")) {
      running.delete(message.payload.tool_call_id);
      counts.toolOutputs += 1;
    }
  }
  return counts;
}

/** What differs, in words; nothing when both say the same. */
export function differences(seen: Tally, recorded: Tally): string[] {
  return (Object.keys(seen) as (keyof Tally)[])
    .filter((name) => JSON.stringify(seen[name]) !== JSON.stringify(recorded[name]))
    .map((name) => `${name}: seen ${JSON.stringify(seen[name])}, recorded ${JSON.stringify(recorded[name])}`);
}
