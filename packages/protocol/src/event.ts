/** Payloads of what happened around the conversation. */
import type { StopReason } from "./message.ts";

/** Tokens. `total` is the sum of the others: what the context holds after the request. */
export interface TokenCounts {
  /** Prompt tokens neither read from a cache nor written to one. */
  input: number;
  cache_read: number;
  cache_write: number;
  /** Includes reasoning. */
  output: number;
  total: number;
}

export type FinishReason = "stop" | "length" | "tool_calls" | "content_filter" | "other";
export const approvalDecisions = ["allow", "deny", "forbidden"] as const;
export type ApprovalDecision = (typeof approvalDecisions)[number];
export type CompactionReason = "context" | "turns" | "manual";
export const compactionModes = ["summarize", "discard"] as const;
export type CompactionMode = (typeof compactionModes)[number];
export type ToolPermission = "r" | "rw";
export type JSONSchema7 = Record<string, unknown>;

export interface ToolDefinition {
  name: string;
  description: string;
  parameters?: JSONSchema7;
  permission?: ToolPermission;
}

export interface RequestBeginPayload {
  type: "request_begin";
}

export interface RequestEndPayload {
  type: "request_end";
  status: StopReason;
  error_message?: string;
  /** 1-based; set whenever a retry happened or follows. */
  attempt?: number;
  /** Present exactly when the engine will retry: the wait before it, in milliseconds. */
  retry_in_ms?: number;
  finish_reason?: FinishReason;
  /** The provider's own word for `finish_reason`. */
  finish_reason_raw?: string;
}

export interface ApprovalDecisionPayload {
  type: "approval_decision";
  decision: ApprovalDecision;
  tool_call_id: string;
}

export interface TokenUsagePayload {
  type: "token_usage";
  /** Sum over all requests of the Session. */
  session: TokenCounts;
  request: TokenCounts;
}

export interface CompactionBeginPayload {
  type: "compaction_begin";
  reason: CompactionReason;
  mode: CompactionMode;
  /** Tokens in the context. */
  context: number;
  turns: number;
}

export interface CompactionEndPayload {
  type: "compaction_end";
  reason: CompactionReason;
  mode: CompactionMode;
  status: "completed" | "failed" | "aborted";
  attempt?: number;
  error_message?: string;
}

export interface AbortPayload {
  type: "abort";
  reason?: string | null;
  /** Steering that the run took and could not deliver, for the host to give back. */
  undelivered?: string[];
}

export interface SubagentPayload {
  type: "subagent";
  /** Of a direct child. */
  session_id: string;
}

export interface ToolListReadyPayload {
  type: "tool_list_ready";
  tools: ToolDefinition[];
}

export interface McpConnectBeginPayload {
  type: "mcp_connect_begin";
  servers: string[];
}

export interface McpServerResult {
  server: string;
  transport: string;
  status: "completed" | "failed" | "aborted";
  duration_ms: number;
  tools?: string[];
  error?: string;
}

export interface McpConnectEndPayload {
  type: "mcp_connect_end";
  status: "completed" | "failed" | "aborted";
  results: McpServerResult[];
}

/** Tells a reader of what is no message of the loop. */
export interface NoticePayload {
  type: "notice";
  level: "info" | "warning" | "error";
  code: string;
  message: string;
}

export type EventPayload =
  | RequestBeginPayload
  | RequestEndPayload
  | ApprovalDecisionPayload
  | TokenUsagePayload
  | CompactionBeginPayload
  | CompactionEndPayload
  | AbortPayload
  | SubagentPayload
  | ToolListReadyPayload
  | McpConnectBeginPayload
  | McpConnectEndPayload
  | NoticePayload;
