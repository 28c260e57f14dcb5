/** A turn that did not finish, as text that a model can read: what was asked, thought, said, called and answered. */
import { isCompleted, unreachable } from "../match.ts";
import type { StopReason } from "../message.ts";
import { escapeBareMarkers, escapeMarkers, markerBlock, readMarkerBlock } from "./grammar.ts";

export type TurnTag = "turn_aborted" | "turn_retried";

export type TurnEntry =
  | { kind: "input"; text: string }
  | { kind: "thinking"; text: string }
  | { kind: "text"; text: string }
  | { kind: "tool_call"; name: string; arguments: string; toolCallId: string }
  | { kind: "tool_output"; toolCallId: string; output: string; stopReason?: StopReason | undefined }
  /** What `turnBlockBody` gave of an earlier block: it goes in as it is, so that nesting never grows. */
  | { kind: "block"; body: string };

const explanations: Record<TurnTag, string> = {
  turn_aborted:
    "This turn was interrupted before it was finished. Below is what it was asked, said and did until then. " +
    "A tool call that has an output was carried out: use the output, do not repeat the call.",
  turn_retried:
    "The connection failed during this turn, and it is now being tried again. Below is what it said and did until then. " +
    "A tool call that has an output was carried out: use the output, do not repeat the call. Go on from there.",
};

/** The block as the text of one user message. Content is quoted unchanged, but for what could pass as our own words. */
export function turnBlock(tag: TurnTag, entries: readonly TurnEntry[]): string {
  const parts = entries.map(renderEntry).filter((part) => part !== "");
  return markerBlock(tag, `\n${[explanations[tag], ...parts].join("\n\n")}\n`);
}

/** The entries of a block of either tag, still escaped, without the explanation; `undefined` when the text is no such block. */
export function turnBlockBody(text: string): string | undefined {
  const block = readMarkerBlock("turn_aborted", text) ?? readMarkerBlock("turn_retried", text);
  if (block === undefined) return undefined;
  const body = withoutFrame(block.body);
  const explanation = Object.values(explanations).find((line) => body === line || body.startsWith(`${line}\n\n`));
  return explanation === undefined ? body : body.slice(explanation.length + 2);
}

function withoutFrame(body: string): string {
  const start = body.startsWith("\n") ? 1 : 0;
  const end = body.length > start && body.endsWith("\n") ? -1 : body.length;
  return body.slice(start, end);
}

function renderEntry(entry: TurnEntry): string {
  switch (entry.kind) {
    case "input":
      return labelled("user input", entry.text);
    case "thinking":
      return labelled("thinking", entry.text);
    case "text":
      return labelled("assistant text", entry.text);
    case "tool_call":
      return labelled(`tool call ${inLabel(entry.name)}, id ${inLabel(entry.toolCallId)}`, entry.arguments);
    case "tool_output": {
      const ending = isCompleted({ stop_reason: entry.stopReason }) ? "" : `, ${entry.stopReason}`;
      return labelled(`tool output, id ${inLabel(entry.toolCallId)}${ending}`, entry.output);
    }
    case "block":
      return escapeBareMarkers(entry.body);
    default:
      return unreachable(entry);
  }
}

function labelled(label: string, content: string): string {
  return `=== ${label} ===\n${escapeLabels(escapeMarkers(content))}`;
}

/** A line of quoted content that looks like a label gets a backslash, or a tool's output could put words into the user's mouth. */
function escapeLabels(content: string): string {
  return content.replace(
    /^([ \t]*)(\\*=== *(?:user input|thinking|assistant text|tool call|tool output))/gim,
    "$1\\$2",
  );
}

/** A name or an id, written by a model, kept on the label's line. */
function inLabel(text: string): string {
  return escapeMarkers(text.replace(/[\p{Cc}\u2028\u2029]+/gu, " "));
}
