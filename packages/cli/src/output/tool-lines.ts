/** The lines that tell of tool calls: asked for, decided, done. */
import {
  type ApprovalDecision,
  isCompleted,
  type OmniMessage,
  type StopReason,
  type ToolCallOutputPayload,
  type ToolCallPayload,
} from "@coxswain/protocol";
import { cut, inOneLine, stripControls } from "../terminal-text.ts";
import { shortCall } from "../tool-call-text.ts";
import type { Style } from "./style.ts";

interface OpenCall {
  name: string;
  /** Milliseconds since the epoch. */
  startedAtMs: number | undefined;
}

const tailLines = 8;
const lineLength = 200;

const decided: Readonly<Record<ApprovalDecision, string>> = {
  allow: "allowed",
  deny: "denied",
  forbidden: "forbidden by policy",
};

export class ToolLines {
  readonly #style: Style;
  readonly #open = new Map<string, OpenCall>();

  constructor(style: Style) {
    this.#style = style;
  }

  call({ payload }: OmniMessage<ToolCallPayload>): string {
    const name = inOneLine(payload.name);
    if (!isCompleted(payload)) {
      return this.#style.yellow(`[cut off] ${name}: the call did not arrive whole and is not run`);
    }
    this.#open.set(payload.tool_call_id, { name, startedAtMs: undefined });
    return `${this.#style.bold("[tool]")} ${shortCall(payload)}`;
  }

  decision(decision: ApprovalDecision, toolCallId: string, timestamp: string): string {
    const call = this.#open.get(toolCallId);
    const name = call?.name ?? inOneLine(toolCallId);
    if (decision !== "allow") return this.#style.yellow(`[${decided[decision]}] ${name}`);
    if (call !== undefined) call.startedAtMs = Date.parse(timestamp);
    const running = [...this.#open.values()].filter((one) => one.startedAtMs !== undefined).length;
    const together = running > 1 ? `, ${running} are running now` : "";
    return this.#style.dim(`[${decided[decision]}] ${name}${together}`);
  }

  output({ payload, timestamp }: OmniMessage<ToolCallOutputPayload>): string[] {
    const call = this.#open.get(payload.tool_call_id);
    this.#open.delete(payload.tool_call_id);
    // A call that never began has been told of by its decision.
    if (call !== undefined && call.startedAtMs === undefined) return [];
    const told = call ?? { name: inOneLine(payload.tool_call_id), startedAtMs: undefined };
    const head = this.#head(payload.stop_reason ?? "completed", told, timestamp);
    return [head, ...this.#tail(payload.output), ...images(payload)];
  }

  /** Calls that an interrupt has cut before they said anything: of those no output is recorded. */
  aborted(timestamp: string): string[] {
    const started = [...this.#open.values()].filter((call) => call.startedAtMs !== undefined);
    this.#open.clear();
    return started.map((call) => this.#head("aborted", call, timestamp));
  }

  #head(status: StopReason, call: OpenCall, timestamp: string): string {
    const tookMs = Date.parse(timestamp) - (call.startedAtMs ?? Date.parse(timestamp));
    const took = this.#style.dim(` (${(Math.max(0, tookMs) / 1000).toFixed(2)} s)`);
    const label = status === "completed" ? this.#style.green("[done]") : this.#style.red(`[${status}]`);
    return `${label} ${call.name}${took}`;
  }

  #tail(output: string): string[] {
    const lines = stripControls(output).trimEnd().split("\n");
    const shown = lines.slice(-tailLines).map((line) => this.#style.dim(`    ${cut(line, lineLength)}`));
    const left = lines.length - shown.length;
    return left > 0 ? [this.#style.dim(`    (${left} lines before these)`), ...shown] : shown;
  }
}

function images({ images: shown = [] }: ToolCallOutputPayload): string[] {
  return shown.length === 0
    ? []
    : [`    (${shown.length === 1 ? "an image" : `${shown.length} images`}, not shown here)`];
}
