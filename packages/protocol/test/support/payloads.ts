/** One message of each known kind with every field that it may have, and which of them it must have. */
import type { OmniMessage } from "../../src/index.ts";
import { startTime } from "./builders.ts";

export interface FullMessage {
  /** Of the payload; of a `session_meta`, which has none, of the envelope. */
  name: string;
  envelope: OmniMessage["type"];
  payload: Record<string, unknown>;
  required: string[];
}

const counts = { input: 1, cache_read: 2, cache_write: 3, output: 4, total: 10 };
const fidelity = { signature: "s" };
const fragment = { event_type: "stop", stop_reason: "failed" };

const model: [payload: Record<string, unknown>, optional: string[]][] = [
  [
    { type: "text", role: "user", text: "", sender: "harness", stop_reason: "completed", fidelity },
    ["sender", "stop_reason", "fidelity"],
  ],
  [{ type: "thinking", role: "assistant", thinking: "", stop_reason: "auth", fidelity }, ["stop_reason", "fidelity"]],
  [
    { type: "inline_thinking", role: "assistant", data: "", mime_type: "a/b", stop_reason: "timeout", fidelity },
    ["stop_reason", "fidelity"],
  ],
  [
    {
      type: "tool_call",
      role: "assistant",
      name: "n",
      arguments: "",
      tool_call_id: "c",
      stop_reason: "malformed",
      fidelity,
    },
    ["stop_reason", "fidelity"],
  ],
  [
    {
      type: "tool_call_output",
      role: "user",
      output: "",
      tool_call_id: "c",
      images: ["data:,"],
      stop_reason: "failed",
    },
    ["images", "stop_reason"],
  ],
  [{ type: "image_url", role: "user", image_url: "data:,", stop_reason: "aborted" }, ["stop_reason"]],
  [
    { type: "inline_data", role: "assistant", data: "", mime_type: "a/b", stop_reason: "failed", fidelity },
    ["stop_reason", "fidelity"],
  ],
  [{ type: "partial_text", role: "assistant", text: "", ...fragment }, ["stop_reason"]],
  [{ type: "partial_thinking", role: "assistant", thinking: "", ...fragment }, ["stop_reason"]],
  [
    { type: "partial_tool_call", role: "assistant", name: "n", arguments: "", tool_call_id: "c", ...fragment },
    ["stop_reason"],
  ],
  [
    { type: "partial_tool_call_output", role: "user", output: "", tool_call_id: "c", images: [], ...fragment },
    ["images", "stop_reason"],
  ],
];

const event: typeof model = [
  [{ type: "request_begin" }, []],
  [
    {
      type: "request_end",
      status: "failed",
      error_message: "",
      attempt: 1,
      retry_in_ms: 0,
      finish_reason: "stop",
      finish_reason_raw: "end",
    },
    ["error_message", "attempt", "retry_in_ms", "finish_reason", "finish_reason_raw"],
  ],
  [{ type: "approval_decision", decision: "deny", tool_call_id: "c" }, []],
  [{ type: "token_usage", session: counts, request: counts }, []],
  [{ type: "compaction_begin", reason: "turns", mode: "discard", context: 0, turns: 0 }, []],
  [
    { type: "compaction_end", reason: "manual", mode: "summarize", status: "aborted", attempt: 2, error_message: "" },
    ["attempt", "error_message"],
  ],
  [{ type: "abort", reason: null, undelivered: ["wait"] }, ["reason", "undelivered"]],
  [{ type: "subagent", session_id: "s" }, []],
  [
    {
      type: "tool_list_ready",
      tools: [{ name: "n", description: "d", parameters: { type: "object" }, permission: "rw" }],
    },
    [],
  ],
  [{ type: "mcp_connect_begin", servers: ["m"] }, []],
  [
    {
      type: "mcp_connect_end",
      status: "completed",
      results: [{ server: "m", transport: "stdio", status: "failed", duration_ms: 1, tools: ["t"], error: "e" }],
    },
    [],
  ],
  [{ type: "notice", level: "error", code: "c", message: "m" }, []],
];

const meta: (typeof model)[number] = [
  {
    session_id: "s",
    provider: "p",
    model_id: "m",
    model_context_window: 0,
    system_prompt: "",
    agent_state: "/a",
    workspace: "/w",
    source: "subagent",
  },
  ["source"],
];

function full(envelope: FullMessage["envelope"], table: typeof model): FullMessage[] {
  return table.map(([payload, optional]) => ({
    name: typeof payload["type"] === "string" ? payload["type"] : envelope,
    envelope,
    payload,
    required: Object.keys(payload).filter((name) => !optional.includes(name)),
  }));
}

export const fullMessages: readonly FullMessage[] = [
  ...full("model_msg", model),
  ...full("event_msg", event),
  ...full("session_meta", [meta]),
];

/** A fresh copy, as read from a file. */
export function wholeMessage({
  envelope,
  payload,
}: FullMessage): Record<string, unknown> & { payload: Record<string, unknown> } {
  const written = JSON.stringify({ timestamp: startTime, type: envelope, payload, origin: ["child"] });
  return JSON.parse(written) as ReturnType<typeof wholeMessage>;
}
