/** A reply as its stream parts come in: what is open, what is complete, and how it ended. */
import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import type { Builders, OmniMessage, StopReason } from "@coxswain/protocol";
import { isRecord, parseJson } from "../../shared/json.ts";
import type { CallIds } from "../call-ids.ts";
import { ownNamespace } from "../own-namespace.ts";
import { ProviderFault } from "../fault/provider-fault.ts";
import { ReplySegment } from "./reply-segment.ts";

type Kind = "text" | "thinking";

interface OpenSegment {
  readonly id: string;
  readonly segment: ReplySegment;
}

interface OpenCall {
  readonly segment: ReplySegment;
  /** Not empty, and worth sending back instead of ours. */
  providerId: string | undefined;
  /** Its `tool-call` part has come. */
  finished: boolean;
  /** Not to be let go at a cut: it may be what was cut. */
  held: boolean;
}

export interface ReplyOptions {
  build: Builders;
  ids: CallIds;
  emit: (message: OmniMessage) => void;
  /** The protocol cannot tell a finished call from a cut one before its stream's good end. */
  holdsCalls: boolean;
  /** The tool's own name for the one that the model knows it by. */
  ownName: (declaredName: string) => string;
}

type Delta = Extract<LanguageModelV3StreamPart, { type: "text-delta" | "reasoning-delta" }>;

export class Reply {
  /** Complete messages, in order: what a commit adds to history. */
  readonly messages: OmniMessage[] = [];
  finishReason: LanguageModelV3FinishReason | undefined;
  usage: LanguageModelV3Usage | undefined;
  readonly #options: ReplyOptions;
  readonly #open: Record<Kind, OpenSegment | undefined> = { text: undefined, thinking: undefined };
  /** Newest call of each of the provider's ids. */
  readonly #calls = new Map<string, OpenCall>();
  /** In order of opening. */
  readonly #openCalls = new Set<OpenCall>();
  /** May have been cut; what follows in the same reply says that it was not. */
  #unsureCall: OpenCall | undefined;
  readonly #providerIds = new Set<string>();

  constructor(options: ReplyOptions) {
    this.#options = options;
  }

  /** Whether the part is content, which feeds the idle limit. Throws the fault that an `error` part carries. */
  accept(part: LanguageModelV3StreamPart): boolean {
    switch (part.type) {
      case "text-delta":
        return this.#delta("text", part);
      case "reasoning-delta":
        return this.#delta("thinking", part);
      case "tool-input-delta":
        return this.#callDelta(part);
      case "text-start":
        this.#start("text", part.id).mergeMetadata(part.providerMetadata);
        return false;
      case "reasoning-start":
        this.#start("thinking", part.id).mergeMetadata(part.providerMetadata);
        return false;
      case "text-end":
        if (this.#open.text?.id === part.id) this.#end("text", part.providerMetadata);
        return false;
      case "reasoning-end":
        if (this.#open.thinking?.id === part.id) this.#end("thinking", part.providerMetadata);
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
    this.#end("text");
    this.#end("thinking");
    for (const call of this.#openCalls) {
      if (call.finished && !(cutsCalls && call.held)) this.#endCall(call);
    }
    return { cutCall: this.#openCalls.values().next().value?.segment.name };
  }

  /** Closes what is open, with the reason. What is closed so is no part of a committed reply. */
  close(stopReason: StopReason): void {
    for (const open of [this.#open.thinking, this.#open.text]) open?.segment.close({ stopReason });
    for (const call of this.#openCalls) call.segment.close({ stopReason });
    this.#open.text = undefined;
    this.#open.thinking = undefined;
    this.#openCalls.clear();
  }

  #acceptRare(part: LanguageModelV3StreamPart): boolean {
    switch (part.type) {
      case "tool-call":
        if (part.providerExecuted !== true) this.#callDone(part);
        return true;
      case "file": {
        this.#endUnsureCall();
        const data = typeof part.data === "string" ? part.data : Buffer.from(part.data).toString("base64");
        const payload = { type: "inline_data" as const, role: "assistant" as const, data, mime_type: part.mediaType };
        const message: OmniMessage = { ...this.#options.build.assistantText(""), payload };
        this.messages.push(message);
        this.#options.emit(message);
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

  #delta(kind: Kind, { id, delta, providerMetadata }: Delta): boolean {
    const segment = this.#start(kind, id);
    if (providerMetadata !== undefined) segment.mergeMetadata(providerMetadata);
    segment.append(delta);
    return delta !== "";
  }

  #callDelta(part: Extract<LanguageModelV3StreamPart, { type: "tool-input-delta" }>): boolean {
    const call = this.#calls.get(part.id);
    call?.segment.mergeMetadata(part.providerMetadata);
    call?.segment.append(part.delta);
    return part.delta !== "";
  }

  #start(kind: Kind, id: string): ReplySegment {
    const open = this.#open[kind];
    if (open !== undefined && open.id === id) return open.segment;
    this.#end(kind);
    this.#endUnsureCall();
    const segment = new ReplySegment({ kind }, this.#options.build, this.#options.emit);
    this.#open[kind] = { id, segment };
    return segment;
  }

  #end(kind: Kind, metadata?: ReplySegment["metadata"]): void {
    const open = this.#open[kind];
    if (open === undefined) return;
    this.#open[kind] = undefined;
    open.segment.mergeMetadata(metadata);
    const message = open.segment.close();
    if (message !== undefined) this.messages.push(message);
  }

  /** Two calls of one reply that share an id cannot both get it back. */
  #openCall(id: string, toolName: string): OpenCall {
    const known = this.#calls.get(id);
    if (known !== undefined && !known.finished) return known;
    // Some streams end their text or thinking only after the call has begun; in history it comes first.
    this.#end("text");
    this.#end("thinking");
    this.#endUnsureCall();
    const givenId = id.toWellFormed();
    const providerId = givenId === "" || this.#providerIds.has(givenId) ? undefined : givenId;
    this.#providerIds.add(givenId);
    const toolCallId = this.#options.ids.issue(givenId);
    const segment = new ReplySegment(
      { kind: "tool_call", name: this.#options.ownName(toolName).toWellFormed(), toolCallId },
      this.#options.build,
      this.#options.emit,
    );
    segment.start();
    const call: OpenCall = { segment, providerId, finished: false, held: false };
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
    this.#endUnsureCall();
    call.finished = true;
    call.held = this.#options.holdsCalls || mayBeCut(input);
    if (!call.held) this.#endCall(call);
    else if (!this.#options.holdsCalls) this.#unsureCall = call;
  }

  #endUnsureCall(): void {
    const call = this.#unsureCall;
    this.#unsureCall = undefined;
    if (call !== undefined) this.#endCall(call);
  }

  #endCall(call: OpenCall): void {
    this.#openCalls.delete(call);
    const { segment, providerId } = call;
    const differs = providerId !== undefined && providerId !== segment.toolCallId;
    const own = differs ? { [ownNamespace]: { tool_call_id: providerId } } : undefined;
    const message = segment.close({ own });
    if (message !== undefined) this.messages.push(message);
  }
}

/** Whole arguments are an object that says something: of nothing at all, too, packages make an object. */
function mayBeCut(input: string): boolean {
  const value = parseJson(input);
  return !isRecord(value) || Object.keys(value).length === 0;
}
