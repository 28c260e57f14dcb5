/** The envelope: one shape for the output stream, the Trace line and the event sent to a browser. */
import type { EventPayload } from "./event.ts";
import type { ModelPayload } from "./model.ts";

/** How a request, or a segment of one, ended. On a complete message, absence means `completed`. */
export const stopReasons = ["completed", "failed", "aborted", "timeout", "malformed", "auth"] as const;

export type StopReason = (typeof stopReasons)[number];

/** From no thinking at all to the most that a model can do. */
export const thinkingLevels = ["none", "low", "medium", "high", "xhigh", "max"] as const;

export type ThinkingLevelName = (typeof thinkingLevels)[number];

/** First line of each Trace file: what stays the same for the whole Session. */
export interface SessionMetaPayload {
  /** Absent; it lets `payload.type` discriminate the union of all payloads. */
  type?: undefined;
  session_id: string;
  provider: string;
  model_id: string;
  /** Tokens; 0 when unknown. */
  model_context_window: number;
  system_prompt: string;
  /** Absolute path of the agent's state directory. */
  agent_state: string;
  /** Absolute path of the Workspace. */
  workspace: string;
  source?: "subagent" | "schedule";
}

export type OmniPayload = SessionMetaPayload | ModelPayload | EventPayload;

interface Envelope<T extends string, P> {
  /** ISO 8601, UTC, with milliseconds. */
  timestamp: string;
  type: T;
  payload: P;
  /** Ids of child Sessions, outermost first; absent for a message of this Session. */
  origin?: string[];
}

/** Distributes over unions, so that `type` and `payload` always fit each other. */
export type OmniMessage<P extends OmniPayload = OmniPayload> = P extends SessionMetaPayload
  ? Envelope<"session_meta", P>
  : P extends ModelPayload
    ? Envelope<"model_msg", P>
    : P extends EventPayload
      ? Envelope<"event_msg", P>
      : never;
