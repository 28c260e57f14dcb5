/** An account of a Trace as lines for a person. */
import type { TokenCounts } from "@coxswain/protocol";
import type { Style } from "../output/style.ts";
import { cut, inOneLine } from "../terminal-text.ts";
import { shortCall } from "../tool-call-text.ts";
import type { AccountEntry, CallEntry, RequestEntry } from "./account.ts";

/** Longer texts are shortened. */
const textLength = 300;

export interface LineOptions {
  /** Characters in a line. */
  columns: number;
  style: Style;
}

export function linesOf(entry: AccountEntry, { columns, style }: LineOptions): string[] {
  const plain = plainLines(entry);
  return plain.map(([text, tone]) => {
    const line = cut(text, columns);
    return tone === undefined ? line : style[tone](line);
  });
}

type Tone = "bold" | "dim" | "red" | "green" | "yellow";
type Line = [text: string, tone?: Tone | undefined];

function plainLines(entry: AccountEntry): Line[] {
  switch (entry.kind) {
    case "context":
      return contextLines(entry);
    case "task":
      return [[""], [`Task ${entry.task}  ${time(entry.at)}`, "bold"]];
    case "input":
      return [[`  ${label(entry.from)} ${shown(entry.text)}`, entry.from === "harness" ? "dim" : undefined]];
    case "request":
      return requestLines(entry);
    case "compaction": {
      const status = entry.status ?? "not ended";
      const error = entry.error === undefined ? "" : `: ${shown(entry.error)}`;
      const took = span(entry.at, entry.endedAt);
      return [
        [
          `  compaction (${inOneLine(entry.reason)}, ${inOneLine(entry.mode)}) of ${entry.tokens} tokens: ${status}${error}${took}`,
          status === "completed" ? undefined : "yellow",
        ],
      ];
    }
    case "notice":
      return [[`  ${inOneLine(entry.level)}: ${shown(entry.text)}`, entry.level === "info" ? "dim" : "yellow"]];
    case "stop":
      return stopLines(entry);
    case "other":
      return [[`  ${inOneLine(entry.what)}`, "dim"]];
  }
}

function contextLines(entry: AccountEntry & { kind: "context" }): Line[] {
  const lines: Line[] = [
    ...(entry.context > 1 ? [[""] satisfies Line] : []),
    [`Context ${entry.context}  ${inOneLine(entry.sessionId)}  ${time(entry.at)}`, "bold"],
    [`  ${inOneLine(`${entry.provider}/${entry.modelId}`)} in ${inOneLine(entry.workspace)}`],
  ];
  if (entry.unreadableLines.length > 0) {
    lines.push([`  cannot be read: line ${entry.unreadableLines.join(", ")}`, "yellow"]);
  }
  if (entry.tornTail) lines.push(["  the last line was cut, and is left out", "yellow"]);
  return lines;
}

function label(from: "person" | "steering" | "harness"): string {
  return { person: "input:", steering: "steering:", harness: "(ours)" }[from];
}

function requestLines(entry: RequestEntry): Line[] {
  const { end } = entry;
  const purpose = entry.purpose === "summary" ? " for a summary" : "";
  const attempt = end?.attempt === undefined ? "" : `, attempt ${end.attempt}`;
  const lines: Line[] = [[`  request ${entry.request}${purpose}${attempt}  ${time(entry.at)}`]];
  for (const thought of entry.thinking)
    if (thought.trim() !== "") lines.push([`    thinking: ${shown(thought)}`, "dim"]);
  for (const text of entry.text) lines.push([`    text: ${shown(text)}`]);
  for (const call of entry.calls) lines.push(...callLines(call));
  if (entry.usage !== undefined)
    lines.push([`    tokens: ${tokens(entry.usage.request)}; session ${entry.usage.session.total}`, "dim"]);
  lines.push(endLine(entry));
  return lines;
}

function endLine({ at, end, endedAt }: RequestEntry): Line {
  if (end === undefined) return ["    has no end: its process stopped", "red"];
  const finish = end.finish_reason === undefined ? "" : ` (${inOneLine(end.finish_reason_raw ?? end.finish_reason)})`;
  const why = end.error_message === undefined ? "" : `: ${shown(end.error_message)}`;
  const wait = end.retry_in_ms === undefined ? "" : `; next attempt in ${seconds(end.retry_in_ms)}`;
  const tone = end.status === "completed" ? "green" : wait === "" ? "red" : "yellow";
  return [`    ${end.status}${finish}${why}${span(at, endedAt)}${wait}`, tone];
}

function callLines(call: CallEntry): Line[] {
  const { name, id, arguments: json } = call;
  const what = shortCall({ type: "tool_call", role: "assistant", name, arguments: json, tool_call_id: id });
  const wait = call.decidedAt === undefined ? "" : span(call.askedAt, call.decidedAt);
  const decision = call.decision === undefined ? "not decided" : inOneLine(call.decision);
  if (call.status === "cut off") return [[`    call ${what}: cut off, not run`, "yellow"]];
  const lines: Line[] = [
    [`    call ${what}`],
    [`      ${decision}${wait}`, call.decision === "allow" ? "dim" : "yellow"],
  ];
  if (call.endedAt === undefined) return [...lines, ["      has no output", "red"]];
  const images = call.images === undefined || call.images === 0 ? "" : `, ${call.images} images`;
  const took = call.decision === "allow" ? span(call.decidedAt ?? call.askedAt, call.endedAt) : "";
  const output = call.output ?? "";
  return [
    ...lines,
    [
      `      ${call.status}, ${output.length} characters${images}${took}: ${shown(output)}`,
      call.status === "completed" ? undefined : "yellow",
    ],
  ];
}

function stopLines(entry: AccountEntry & { kind: "stop" }): Line[] {
  const words = {
    interrupted: "interrupted",
    failed: "failed",
    "process exited": "its process exited before the Task was over",
    turns: "stopped",
  }[entry.how];
  const lines: Line[] = [[`  ${words}${entry.reason === undefined ? "" : `: ${shown(entry.reason)}`}`, "red"]];
  for (const text of entry.undelivered ?? []) lines.push([`  not delivered: ${shown(text)}`, "yellow"]);
  return lines;
}

function tokens({ input, cache_read: read, cache_write: written, output, total }: TokenCounts): string {
  return `${input} in, ${read} from cache, ${written} to cache, ${output} out, ${total} in all`;
}

function shown(text: string): string {
  return cut(inOneLine(text), textLength);
}

function span(from: string, to: string | undefined): string {
  const ms = to === undefined ? Number.NaN : Date.parse(to) - Date.parse(from);
  return Number.isNaN(ms) ? "" : `, ${seconds(Math.max(0, ms))}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
}

/** `2026-01-31 12:00:05`, where the person is. */
function time(timestamp: string): string {
  const date = new Date(timestamp);
  if (Number.isNaN(date.getTime())) return inOneLine(timestamp);
  const two = (value: number): string => String(value).padStart(2, "0");
  const day = `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
  return `${day} ${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
