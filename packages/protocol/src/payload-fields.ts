/**
 * What each known payload must hold. Closed sets are those that a reader has to switch over; `sender`, `finish_reason`,
 * `source` and the like may hold words that we do not know yet.
 */
import { approvalDecisions, compactionModes, type EventPayload } from "./event.ts";
import { arrayOf, count, type Fields, fields, object, oneOf, record, text, textOrNull, texts } from "./field.ts";
import { stopReasons } from "./message.ts";
import type { ModelPayload } from "./model.ts";

const assistant = oneOf("assistant");
const user = oneOf("user");
const eitherRole = oneOf("user", "assistant");
const stopReason = oneOf(...stopReasons);
const fragmentEvent = oneOf("start", "delta", "stop");
const compactionReason = oneOf("context", "turns", "manual");
const compactionMode = oneOf(...compactionModes);
const settled = oneOf("completed", "failed", "aborted");

/** Older writers leave out `input`, and who knows what else: `readTokenCounts` fills it in. */
const tokenCounts = record(
  fields({ total: count }, { input: count, cache_read: count, cache_write: count, output: count }),
  "an object of token counts with at least total",
);
const tools = arrayOf(
  record(
    fields({ name: text, description: text }, { parameters: object, permission: text }),
    "a tool definition { name, description, parameters?, permission? }",
  ),
  "tool definitions",
);
const serverResults = arrayOf(
  record(
    fields({ server: text, transport: text, status: settled, duration_ms: count }, { tools: texts, error: text }),
    "a result { server, transport, status, duration_ms, tools?, error? }",
  ),
  "results",
);

const complete = { stop_reason: stopReason };
const modelWritten = { stop_reason: stopReason, fidelity: object };

const model: Record<ModelPayload["type"], Fields> = {
  text: fields({ role: eitherRole, text }, { sender: text, ...modelWritten }),
  thinking: fields({ role: assistant, thinking: text }, modelWritten),
  inline_thinking: fields({ role: assistant, data: text, mime_type: text }, modelWritten),
  tool_call: fields({ role: assistant, name: text, arguments: text, tool_call_id: text }, modelWritten),
  tool_call_output: fields({ role: user, output: text, tool_call_id: text }, { images: texts, ...complete }),
  image_url: fields({ role: user, image_url: text }, complete),
  inline_data: fields({ role: eitherRole, data: text, mime_type: text }, modelWritten),
  partial_text: fields({ role: assistant, event_type: fragmentEvent, text }, complete),
  partial_thinking: fields({ role: assistant, event_type: fragmentEvent, thinking: text }, complete),
  partial_tool_call: fields(
    { role: assistant, event_type: fragmentEvent, name: text, arguments: text, tool_call_id: text },
    complete,
  ),
  partial_tool_call_output: fields(
    { role: user, event_type: fragmentEvent, output: text, tool_call_id: text },
    { images: texts, ...complete },
  ),
};

const event: Record<EventPayload["type"], Fields> = {
  request_begin: fields({}),
  request_end: fields(
    { status: stopReason },
    { error_message: text, attempt: count, retry_in_ms: count, finish_reason: text, finish_reason_raw: text },
  ),
  approval_decision: fields({ decision: oneOf(...approvalDecisions), tool_call_id: text }),
  token_usage: fields({ session: tokenCounts, request: tokenCounts }),
  compaction_begin: fields({ reason: compactionReason, mode: compactionMode, context: count, turns: count }),
  compaction_end: fields(
    { reason: compactionReason, mode: compactionMode, status: settled },
    { attempt: count, error_message: text },
  ),
  abort: fields({}, { reason: textOrNull, undelivered: texts }),
  subagent: fields({ session_id: text }),
  tool_list_ready: fields({ tools }),
  mcp_connect_begin: fields({ servers: texts }),
  mcp_connect_end: fields({ status: settled, results: serverResults }),
  notice: fields({ level: oneOf("info", "warning", "error"), code: text, message: text }),
};

export const sessionMetaFields: Fields = fields(
  {
    session_id: text,
    provider: text,
    model_id: text,
    model_context_window: count,
    system_prompt: text,
    agent_state: text,
    workspace: text,
  },
  { source: text },
);

export interface PayloadSchema {
  readonly envelope: "model_msg" | "event_msg";
  readonly fields: Fields;
}

function entriesOf(envelope: PayloadSchema["envelope"], table: Record<string, Fields>): [string, PayloadSchema][] {
  return Object.entries(table).map(([type, itsFields]) => [type, { envelope, fields: itsFields }]);
}

/** By `payload.type`. */
export const payloadSchemas: ReadonlyMap<string, PayloadSchema> = new Map([
  ...entriesOf("model_msg", model),
  ...entriesOf("event_msg", event),
]);
