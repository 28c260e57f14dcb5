/** A life as lines that a person can read. */
import { isPartial, type OmniMessage } from "@coxswain/core";
import type { Observation } from "./observation.ts";

export function scheduleLines(log: readonly Observation[]): string[] {
  return log.map((seen) => (seen.at === "step" ? `${seen.number}. ${seen.label}` : `      ${describe(seen)}`));
}

function describe(seen: Exclude<Observation, { at: "step" }>): string {
  switch (seen.at) {
    case "process": {
      const missing = seen.resumed?.missing.map(brief).join(", ");
      return `process ${seen.number} begins${missing === undefined ? "" : `; written for the dead one: ${missing || "nothing"}`}`;
    }
    case "run":
      return `${seen.kind}(${seen.input.map(brief).join(", ")})`;
    case "landed":
      return `trace ${seen.file + 1} < ${brief(seen.record)}`;
    case "settled":
      return `${seen.isKept ? "kept" : "refused"}: ${brief(seen.record)}`;
    case "disk":
      return `the disk is ${seen.is}`;
    case "showed":
      return `reader > ${brief(seen.message)}`;
    case "request":
      return `${seen.purpose} request to context ${seen.context}: ${seen.history.length} messages, and ${seen.input.map(brief).join(", ")}`;
    case "said":
      return `model: ${brief(seen.message)}`;
    case "answered":
      return seen.outcome === "threw" ? "model throws" : `model ends as ${JSON.stringify(seen.outcome)}`;
    case "asked":
      return `asked about ${seen.call.payload.tool_call_id}`;
    case "decided":
      return `answer about ${seen.toolCallId}: ${seen.answer}`;
    case "vetoed":
      return `the policy refuses ${seen.toolCallId}`;
    case "tool":
      return `tool starts: ${brief(seen.call)}`;
    case "tool ends":
      return `tool of ${seen.toolCallId} ${seen.how}`;
    case "steered":
      return `steer ${seen.mark}: ${seen.isAccepted ? "accepted" : "not accepted"}`;
    case "reported":
      return `background work reports ${seen.mark}`;
    case "told host":
      return `the host is told of ${seen.mark}`;
    case "skipped wait":
      return "the wait is skipped";
    case "interrupted":
      return `INTERRUPT: ${seen.how}`;
    case "ended":
      return `the run is over${seen.end.isReadToEnd ? "" : ", its reader has left"}`;
    case "died":
      return `DEATH${seen.tornTail ? ", in the middle of a record" : ""}${seen.heldBack > 0 ? `, ${seen.heldBack} records held back are lost` : ""}`;
    default:
      return seen satisfies never;
  }
}

const maxWords = 60;

function brief(message: OmniMessage): string {
  const { payload } = message;
  const origin = message.origin === undefined ? "" : `${message.origin.join("/")}: `;
  if (payload.type === undefined) return `${origin}session_meta`;
  const event = isPartial(message) ? ` ${message.payload.event_type}` : "";
  const role = payload.type === "text" ? ` ${payload.sender ?? payload.role}` : "";
  return `${origin}${payload.type}${event}${role}${detail(payload)}`;
}

function detail(payload: OmniMessage["payload"]): string {
  const parts: string[] = [];
  if ("tool_call_id" in payload) parts.push(payload.tool_call_id);
  if ("decision" in payload) parts.push(payload.decision);
  if ("text" in payload) parts.push(quoted(payload.text));
  if ("thinking" in payload) parts.push(quoted(payload.thinking));
  if ("arguments" in payload) parts.push(`${payload.name} ${quoted(payload.arguments)}`);
  if ("output" in payload && typeof payload.output === "string") parts.push(quoted(payload.output));
  if ("status" in payload) parts.push(payload.status);
  if ("stop_reason" in payload && payload.stop_reason !== undefined) parts.push(`(${payload.stop_reason})`);
  if ("retry_in_ms" in payload && payload.retry_in_ms !== undefined) parts.push(`retry in ${payload.retry_in_ms} ms`);
  if (payload.type === "compaction_begin") parts.push(`${payload.mode}, ${payload.reason}`);
  if (payload.type === "abort") parts.push(`${payload.reason ?? ""} ${payload.undelivered?.join(", ") ?? ""}`);
  return parts.length === 0 ? "" : ` ${parts.join(" ").trim()}`;
}

function quoted(text: string): string {
  const json = JSON.stringify(text);
  return json.length <= maxWords ? json : `${json.slice(0, maxWords / 2)}…${json.slice(-maxWords / 2)}`;
}
