/** A Task for a person: the answer on standard output, the course of events on standard error. */
import { type AbortPayload, isPayload, type OmniMessage, type RequestEndPayload } from "@coxswain/protocol";
import type { TaskOutcome } from "../task-outcome.ts";
import { ControlStripper, inOneLine, stripControls } from "../terminal-text.ts";
import type { Screen } from "./screen.ts";
import type { TaskView } from "./task-view.ts";
import { ToolLines } from "./tool-lines.ts";
import { WaitingLine } from "./waiting-line.ts";

/** From then on a model's silence is told of. */
const silenceSeconds = 5;

export class TextView implements TaskView {
  readonly #screen: Screen;
  readonly #tools: ToolLines;
  readonly #waiting: WaitingLine;
  readonly #answer = new ControlStripper();
  readonly #thinking = new ControlStripper();
  /** The complete text that follows has been shown already. */
  #isStreamed = false;

  constructor(screen: Screen) {
    this.#screen = screen;
    this.#tools = new ToolLines(screen.style);
    this.#waiting = new WaitingLine(screen);
  }

  async show(message: OmniMessage): Promise<void> {
    // What a Subagent says is not this Session's answer.
    if (message.origin !== undefined) return;
    const { payload } = message;
    if (payload.type !== "tool_list_ready" && payload.type !== "request_begin") this.#waiting.stop();
    switch (payload.type) {
      case "partial_text":
        return this.#text(payload.event_type, payload.text);
      case "partial_thinking":
        return this.#thought(payload.event_type, payload.thinking);
      case "text":
        return this.#wholeText(payload.role, payload.text);
      default:
        return this.#event(message);
    }
  }

  async end(outcome: TaskOutcome): Promise<void> {
    this.#waiting.stop();
    await this.#screen.endAnswer();
    await this.#screen.endStatus();
    if (outcome.reason !== undefined)
      await this.#screen.line(this.#screen.style.red(`cox: ${inOneLine(outcome.reason)}`));
    else if (outcome.exitCode !== 0 && !this.#screen.answerIsGone)
      await this.#screen.line(this.#screen.style.yellow("[interrupted]"));
  }

  async #text(eventType: "start" | "delta" | "stop", text: string): Promise<void> {
    this.#isStreamed = true;
    if (eventType === "start") this.#answer.reset();
    await this.#screen.answer(this.#answer.push(text));
    if (eventType === "stop") await this.#screen.endAnswer();
  }

  async #thought(eventType: "start" | "delta" | "stop", text: string): Promise<void> {
    if (eventType === "start") {
      this.#thinking.reset();
      await this.#screen.endStatus();
      await this.#screen.faint("[thinking] ");
    }
    await this.#screen.faint(this.#thinking.push(text));
    if (eventType === "stop") await this.#screen.endStatus();
  }

  async #wholeText(role: "user" | "assistant", text: string): Promise<void> {
    if (role === "assistant" && !this.#isStreamed) {
      await this.#screen.answer(stripControls(text));
      await this.#screen.endAnswer();
    }
    this.#isStreamed = false;
  }

  async #event(message: OmniMessage): Promise<void> {
    const { style } = this.#screen;
    const { timestamp } = message;
    if (isPayload(message, "tool_call")) return this.#screen.line(this.#tools.call(message));
    if (isPayload(message, "tool_call_output")) {
      for (const line of this.#tools.output(message)) await this.#screen.line(line);
      return;
    }
    if (isPayload(message, "approval_decision")) {
      const { decision, tool_call_id: id } = message.payload;
      return this.#screen.line(this.#tools.decision(decision, id, timestamp));
    }
    if (isPayload(message, "request_begin")) return this.#watchSilence();
    if (isPayload(message, "request_end")) return this.#requestEnd(message.payload);
    if (isPayload(message, "abort")) return this.#abort(message.payload, timestamp);
    if (isPayload(message, "notice")) {
      const { level, message: words } = message.payload;
      return this.#screen.line(style[level === "info" ? "dim" : "yellow"](`[${level}] ${inOneLine(words)}`));
    }
    const words = otherEvent(message);
    if (words !== undefined) await this.#screen.line(style.dim(words));
  }

  async #abort({ undelivered = [] }: AbortPayload, timestamp: string): Promise<void> {
    for (const line of this.#tools.aborted(timestamp)) await this.#screen.line(line);
    for (const words of undelivered)
      await this.#screen.line(`${this.#screen.style.yellow("[not delivered]")} ${inOneLine(words)}`);
  }

  #watchSilence(): void {
    this.#waiting.start((seconds) =>
      seconds < silenceSeconds ? undefined : `[waiting] the model has said nothing for ${seconds} s; Ctrl-C interrupts`,
    );
  }

  async #requestEnd(payload: RequestEndPayload): Promise<void> {
    const { style } = this.#screen;
    if (payload.finish_reason === "length") {
      await this.#screen.line(style.yellow("[cut off] the answer reached the model's output limit"));
    }
    const { status, error_message: error, retry_in_ms: retryInMs, attempt = 1 } = payload;
    if (status === "completed" || status === "aborted" || retryInMs === undefined) return;
    const why = inOneLine(error ?? `the request ended as ${status}`);
    await this.#screen.line(
      style.yellow(`[reconnect] ${why.replace(/\.$/, "")}; attempt ${attempt + 1} in ${retryInMs / 1000} s`),
    );
    const waitSeconds = Math.ceil(retryInMs / 1000);
    if (waitSeconds < 2) return;
    this.#waiting.start((seconds) =>
      seconds > waitSeconds
        ? undefined
        : `[reconnect] attempt ${attempt + 1} in ${waitSeconds - seconds} s; Ctrl-C gives up`,
    );
  }
}

/** In words; `undefined` for what a person need not see. */
function otherEvent(message: OmniMessage): string | undefined {
  if (isPayload(message, "compaction_begin")) {
    const { reason, context } = message.payload;
    return `[compaction] begins (${inOneLine(reason)}): ${context} tokens`;
  }
  if (isPayload(message, "compaction_end")) {
    const { status, error_message: error } = message.payload;
    return `[compaction] ${inOneLine([status, error].filter((part) => part !== undefined).join(": "))}`;
  }
  if (isPayload(message, "mcp_connect_begin"))
    return `[mcp] connecting to ${inOneLine(message.payload.servers.join(", "))}`;
  if (isPayload(message, "mcp_connect_end")) return `[mcp] ${inOneLine(message.payload.status)}`;
  if (isPayload(message, "subagent")) return `[subagent] ${inOneLine(message.payload.session_id)}`;
  return undefined;
}
