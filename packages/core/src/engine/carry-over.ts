/**
 * What a stopped turn hands to the next request. Pure functions of records, so that an interrupt and a resume give the
 * model the same words.
 */
import {
  isCompleted,
  type OmniMessage,
  type ToolCallOutputPayload,
  type ToolCallPayload,
  type TurnEntry,
  turnBlock,
  turnBlockBody,
} from "@coxswain/protocol";
import type { Calls } from "./calls.ts";
import { engineDefaults } from "./defaults.ts";

export type MissingOutputReason = "interrupted" | "process exited";

/** The `abort.reason` that resume writes after a crash. */
export const processExitedReason = "process exited" satisfies MissingOutputReason;

const placeholders: Record<MissingOutputReason, string> = {
  interrupted: engineDefaults.interruptedPlaceholder,
  "process exited":
    "[interrupted: process exited before the tool finished; its outcome is unknown, check before repeating it]",
};

/** One attempt at a request: what the model said, and the outputs of its calls, in order of arrival. */
export interface Attempt {
  readonly said: OmniMessage[];
  /** Its whole calls. */
  readonly calls: Calls;
}

/** A call that was cut while it streamed is never asked, run, answered or sent. */
export function isWholeCall(message: OmniMessage): message is OmniMessage<ToolCallPayload> {
  return message.payload.type === "tool_call" && isCompleted(message.payload);
}

/** It ended before its good end. */
export function isCut({ payload }: OmniMessage): boolean {
  return "stop_reason" in payload && !isCompleted(payload);
}

/** What a run says that came to its last turn: no words of the model's. */
export function isLastWord({ payload }: OmniMessage): boolean {
  return payload.type === "text" && payload.stop_reason === "failed" && payload.text.startsWith("[reached max turns");
}

/** One output for each call, in call order; placeholders where none has come. */
export function pairOutputs(
  calls: readonly OmniMessage<ToolCallPayload>[],
  outputs: ReadonlyMap<string, OmniMessage<ToolCallOutputPayload>>,
  reason: MissingOutputReason,
): OmniMessage[] {
  return calls.map((call) => outputs.get(call.payload.tool_call_id) ?? placeholderFor(call, reason));
}

function placeholderFor(
  call: OmniMessage<ToolCallPayload>,
  reason: MissingOutputReason,
): OmniMessage<ToolCallOutputPayload> {
  return {
    timestamp: call.timestamp,
    type: "model_msg",
    payload: {
      type: "tool_call_output",
      role: "user",
      output: placeholders[reason],
      tool_call_id: call.payload.tool_call_id,
      stop_reason: "aborted",
    },
  };
}

/**
 * An uncommitted turn: its texts, and what it said and did, become one `[turn_aborted]` text; everything of its input
 * that is not a text stays as it is in front of it. A turn that said nothing keeps its input.
 */
export function abortedTurn(
  input: readonly OmniMessage[],
  attempts: readonly Attempt[],
  timestamp: string,
): OmniMessage[] {
  const said = attempts.flatMap((attempt) => saidEntries(attempt));
  if (said.length === 0) return [...input];
  const kept = input.filter((message) => !isQuotable(message));
  const asked = input.filter(isQuotable).flatMap((message) => inputEntry(message));
  return [...kept, harnessText(turnBlock("turn_aborted", [...asked, ...said]), timestamp)];
}

/** What all failed attempts of a turn said and did, for the next attempt; nothing when they said nothing. */
export function retriedTurn(attempts: readonly Attempt[], timestamp: string): OmniMessage[] {
  const said = attempts.flatMap((attempt) => saidEntries(attempt));
  return said.length === 0 ? [] : [harnessText(turnBlock("turn_retried", said), timestamp)];
}

export function harnessText(text: string, timestamp: string): OmniMessage {
  return { timestamp, type: "model_msg", payload: { type: "text", role: "user", text, sender: "harness" } };
}

/** Texts of a person and blocks of ours go into a block; the summary of an earlier context stays as it is. */
function isQuotable(message: OmniMessage): boolean {
  if (message.payload.type !== "text") return false;
  return message.payload.sender !== "harness" || turnBlockBody(message.payload.text) !== undefined;
}

function inputEntry(message: OmniMessage): TurnEntry[] {
  if (message.payload.type !== "text") return [];
  const body = message.payload.sender === "harness" ? turnBlockBody(message.payload.text) : undefined;
  return [body === undefined ? { kind: "input", text: message.payload.text } : { kind: "block", body }];
}

function saidEntries(attempt: Attempt): TurnEntry[] {
  return attempt.said.flatMap((message): TurnEntry[] => {
    const payload = message.payload;
    switch (payload.type) {
      case "thinking":
        return payload.thinking === "" ? [] : [{ kind: "thinking", text: payload.thinking }];
      case "text":
        return payload.text === "" ? [] : [{ kind: "text", text: payload.text }];
      case "tool_call":
        if (!isWholeCall(message)) return [];
        return [
          {
            kind: "tool_call",
            name: payload.name,
            arguments: payload.arguments === "" ? "{}" : payload.arguments,
            toolCallId: payload.tool_call_id,
          },
        ];
      case "tool_call_output":
        return [
          {
            kind: "tool_output",
            toolCallId: payload.tool_call_id,
            output: payload.output,
            stopReason: payload.stop_reason,
          },
        ];
      default:
        return [];
    }
  });
}
