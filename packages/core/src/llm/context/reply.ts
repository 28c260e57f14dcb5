/** A reply as its stream parts come in: what is open, what is complete, and how it ended. */
import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import type { Builders, OmniMessage, StopReason } from "@coxswain/protocol";
import type { CallIds } from "./call-ids.ts";
import { parseJson } from "../../shared/json.ts";
import { ownNamespace } from "./prompt-converter.ts";
import { ProviderFault } from "../fault/provider-fault.ts";
import { ReplySegment } from "./reply-segment.ts";

interface OpenCall {
  readonly segment: ReplySegment;
  /** Not empty, and worth sending back instead of ours. */
  providerId: string | undefined;
  /** Its `tool-call` part has come. */
  finished: boolean;
}

export interface ReplyOptions {
  build: Builders;
  ids: CallIds;
  emit: (message: OmniMessage) => void;
  /** The protocol cannot tell a finished call from a cut one before its stream's good end. */
  holdsCalls: boolean;
}

export class Reply {
  /** Complete messages, in order: what a commit adds to history. */
  readonly messages: OmniMessage[] = [];
  finishReason: LanguageModelV3FinishReason | undefined;
  usage: LanguageModelV3Usage | undefined;
  hasText = false;
  hasCall = false;
  readonly #options: ReplyOptions;
  #text: ReplySegment | undefined;
  #textId = "";
  #thinking: ReplySegment | undefined;
  #thinkingId = "";
  /** Newest call of each of the provider's ids. */
  readonly #calls = new Map<string, OpenCall>();
  /** In order of opening. */
  readonly #openCalls = new Set<OpenCall>();
  readonly #providerIds = new Set<string>();

  constructor(options: ReplyOptions) {
    this.#options = options;
  }

  /** Whether the part is content, which feeds the idle limit. Throws the fault that an `error` part carries. */
  accept(part: LanguageModelV3StreamPart): boolean {
    switch (part.type) {
      case "text-delta":
        return this.#textDelta(part);
      case "reasoning-delta":
        return this.#thinkingDelta(part);
      case "tool-input-delta":
        return this.#callDelta(part);
      case "text-start":
        this.#openText(part.id).mergeMetadata(part.providerMetadata);
        return false;
      case "reasoning-start":
        this.#openThinking(part.id).mergeMetadata(part.providerMetadata);
        return false;
      case "text-end":
        if (this.#textId === part.id) this.#endText(part.providerMetadata);
        return false;
      case "reasoning-end":
        if (this.#thinkingId === part.id) this.#endThinking(part.providerMetadata);
        return false;
      case "tool-input-start":
        if (part.providerExecuted === true) return true;
        this.#openCall(part.id, part.toolName).segment.mergeMetadata(part.providerMetadata);
        return true;
      case "tool-input-end":
        this.#calls.get(part.id)?.segment.mergeMetadata(part.providerMetadata);
        return false;
      default:
        return this.#acceptRare(part);
    }
  }

  /** The good end of the stream: lets held calls go. A call still open was cut. */
  end(reason: LanguageModelV3FinishReason["unified"]): { cutCall: string | undefined } {
    const cutsCalls = reason === "length" || reason === "content-filter";
    this.#endText(undefined);
    this.#endThinking(undefined);
    for (const call of this.#openCalls) {
      if (call.finished && !(cutsCalls && this.#options.holdsCalls)) this.#endCall(call);
    }
    return { cutCall: this.#openCalls.values().next().value?.segment.name };
  }

  /** Closes what is open, with the reason. What is closed so is no part of a committed reply. */
  close(stopReason: StopReason): void {
    for (const segment of [this.#thinking, this.#text]) segment?.close({ stopReason });
    for (const call of this.#openCalls) call.segment.close({ stopReason });
    this.#text = undefined;
    this.#thinking = undefined;
    this.#openCalls.clear();
  }

  #acceptRare(part: LanguageModelV3StreamPart): boolean {
    switch (part.type) {
      case "tool-call":
        if (part.providerExecuted !== true) this.#callDone(part);
        return true;
      case "file": {
        const data = typeof part.data === "string" ? part.data : Buffer.from(part.data).toString("base64");
        const payload = { type: "inline_data" as const, role: "assistant" as const, data, mime_type: part.mediaType };
        const message: OmniMessage = { ...this.#options.build.assistantText(""), payload };
        this.#keep(message);
        this.#options.emit(message);
        this.hasText = true;
        return true;
      }
      case "finish":
        this.finishReason = part.finishReason;
        this.usage = part.usage;
        return false;
      case "error":
        throw part.error instanceof Error ? part.error : new ProviderFault({ kind: "error_object", error: part.error });
      default:
        return false;
    }
  }

  #textDelta(part: Extract<LanguageModelV3StreamPart, { type: "text-delta" }>): boolean {
    let segment = this.#text;
    if (segment === undefined || this.#textId !== part.id) segment = this.#openText(part.id);
    if (part.providerMetadata !== undefined) segment.mergeMetadata(part.providerMetadata);
    segment.append(part.delta);
    return part.delta !== "";
  }

  #thinkingDelta(part: Extract<LanguageModelV3StreamPart, { type: "reasoning-delta" }>): boolean {
    let segment = this.#thinking;
    if (segment === undefined || this.#thinkingId !== part.id) segment = this.#openThinking(part.id);
    if (part.providerMetadata !== undefined) segment.mergeMetadata(part.providerMetadata);
    segment.append(part.delta);
    return part.delta !== "";
  }

  #callDelta(part: Extract<LanguageModelV3StreamPart, { type: "tool-input-delta" }>): boolean {
    const call = this.#calls.get(part.id);
    call?.segment.mergeMetadata(part.providerMetadata);
    call?.segment.append(part.delta);
    return part.delta !== "";
  }

  #openText(id: string): ReplySegment {
    if (this.#text !== undefined && this.#textId === id) return this.#text;
    this.#endText(undefined);
    this.#textId = id;
    this.#text = new ReplySegment({ kind: "text" }, this.#options.build, this.#options.emit);
    return this.#text;
  }

  #openThinking(id: string): ReplySegment {
    if (this.#thinking !== undefined && this.#thinkingId === id) return this.#thinking;
    this.#endThinking(undefined);
    this.#thinkingId = id;
    this.#thinking = new ReplySegment({ kind: "thinking" }, this.#options.build, this.#options.emit);
    return this.#thinking;
  }

  #endText(metadata: ReplySegment["metadata"]): void {
    this.#text?.mergeMetadata(metadata);
    const message = this.#text?.close();
    this.#text = undefined;
    if (message === undefined) return;
    this.hasText = true;
    this.#keep(message);
  }

  #endThinking(metadata: ReplySegment["metadata"]): void {
    this.#thinking?.mergeMetadata(metadata);
    const message = this.#thinking?.close();
    this.#thinking = undefined;
    if (message !== undefined) this.#keep(message);
  }

  /** Two calls of one reply that share an id cannot both get it back. */
  #openCall(id: string, toolName: string): OpenCall {
    const known = this.#calls.get(id);
    if (known !== undefined && !known.finished) return known;
    // Some streams end their text only after the call has begun; in history it comes first.
    this.#endText(undefined);
    const givenId = id.toWellFormed();
    const providerId = givenId === "" || this.#providerIds.has(givenId) ? undefined : givenId;
    this.#providerIds.add(givenId);
    const toolCallId = this.#options.ids.issue(givenId);
    const segment = new ReplySegment(
      { kind: "tool_call", name: toolName.toWellFormed(), toolCallId },
      this.#options.build,
      this.#options.emit,
    );
    segment.start();
    const call: OpenCall = { segment, providerId, finished: false };
    this.#calls.set(id, call);
    this.#openCalls.add(call);
    return call;
  }

  #callDone(part: Extract<LanguageModelV3StreamPart, { type: "tool-call" }>): void {
    const call = this.#openCall(part.toolCallId, part.toolName);
    const { segment } = call;
    segment.mergeMetadata(part.providerMetadata);
    const input = (typeof part.input === "string" ? part.input : (JSON.stringify(part.input) ?? "")).toWellFormed();
    if (input.startsWith(segment.text)) segment.append(input.slice(segment.text.length));
    // What was shown stands: the deltas joined are the call. Only a call that was shown broken and comes whole is told.
    else if (parseJson(segment.text) === undefined && parseJson(input) !== undefined) {
      throw new ProviderFault({
        kind: "unreadable",
        detail: `the call of ${part.toolName} differs from its fragments`,
      });
    }
    call.finished = true;
    if (!this.#options.holdsCalls) this.#endCall(call);
  }

  #endCall(call: OpenCall): void {
    this.#openCalls.delete(call);
    const { segment, providerId } = call;
    const differs = providerId !== undefined && providerId !== segment.toolCallId;
    const own = differs ? { [ownNamespace]: { tool_call_id: providerId } } : undefined;
    const message = segment.close({ own });
    if (message === undefined) return;
    this.hasCall = true;
    this.#keep(message);
  }

  #keep(message: OmniMessage): void {
    this.messages.push(message);
  }
}
