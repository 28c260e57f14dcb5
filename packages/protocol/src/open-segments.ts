/**
 * Follows a stream and knows what is open: started, and without its complete message. Made for hot paths: following a
 * delta appends to one string, whatever the message's length. Streams that keep no discipline are followed as well as
 * they can be: a fragment without a `start` opens its segment, a second `start` goes on with it.
 */
import type { OmniMessage, StopReason } from "./message.ts";
import type {
  FragmentEvent,
  PartialTextPayload,
  PartialThinkingPayload,
  PartialToolCallOutputPayload,
  PartialToolCallPayload,
} from "./model.ts";
import {
  completeMessage,
  deltaFragment,
  type Segment,
  type SegmentBuilders,
  stopFragment,
  type TextSegment,
  type ThinkingSegment,
  type ToolCallSegment,
  type ToolOutputSegment,
} from "./segment.ts";

export type OpenSegment = Readonly<Segment>;

export interface CloseOptions {
  /** Which of the open segments. Default: all, also those of child Sessions. */
  which?: ((segment: OpenSegment) => boolean) | undefined;
  /** Sent as a last delta of each tool output that had not stopped. */
  outputNote?: string | undefined;
}

/** What one Session can have open at a time. */
interface Scope {
  readonly origin: readonly string[] | undefined;
  text: TextSegment | undefined;
  thinking: ThinkingSegment | undefined;
  readonly calls: Map<string, ToolCallSegment>;
  readonly outputs: Map<string, ToolOutputSegment>;
}

export class OpenSegments {
  /** In order of opening. */
  readonly #open = new Set<Segment>();
  readonly #own: Scope = newScope(undefined);
  readonly #children = new Map<string, Scope>();
  #newestChild: Scope | undefined;

  get size(): number {
    return this.#open.size;
  }

  /** Call it with every message of the stream, in order. */
  track(message: OmniMessage): void {
    const payload = message.payload;
    switch (payload.type) {
      case "partial_text": {
        const segment = this.#own.text;
        if (segment === undefined || message.origin !== undefined || payload.event_type !== "delta") {
          return this.#text(message, payload);
        }
        segment.text += payload.text;
        return;
      }
      case "partial_thinking":
        return this.#thinking(message, payload);
      case "partial_tool_call":
        return this.#call(message, payload);
      case "partial_tool_call_output":
        return this.#output(message, payload);
      case "text":
      case "thinking":
      case "tool_call":
      case "tool_call_output":
        if (this.#open.size > 0) this.#finish(message);
        return;
      default:
        return;
    }
  }

  /** What is open, in order of opening; copies, which later messages do not change. */
  open(): OpenSegment[] {
    return Array.from(this.#open, (segment) =>
      segment.kind === "tool_output" ? { ...segment, images: [...segment.images] } : { ...segment },
    );
  }

  /** Whether some open segment is such; nothing is copied. */
  some(test: (segment: OpenSegment) => boolean): boolean {
    for (const segment of this.#open) if (test(segment)) return true;
    return false;
  }

  /** Lets go of the segments that are such, and gives them. */
  take(test: (segment: OpenSegment) => boolean): OpenSegment[] {
    const taken = [...this.#open].filter(test);
    for (const segment of taken) this.#forget(segment);
    return taken;
  }

  /**
   * Closes what is open: for each segment its `stop` and its complete message so far, both with the reason
   * (`completed` is left out). A segment that had stopped gets the complete message alone, with what its `stop` said.
   */
  close(stopReason: StopReason, build: SegmentBuilders, options: CloseOptions = {}): OmniMessage[] {
    const { which = () => true, outputNote } = options;
    return this.take(which).flatMap((segment) => {
      if (segment.stopped) return [completeMessage(segment, build, segment.stopReason)];
      const noted = outputNote !== undefined && segment.kind === "tool_output";
      const whole = noted ? { ...segment, output: segment.output + outputNote } : segment;
      return [
        ...(noted ? [deltaFragment(segment, build, { text: outputNote, images: [] })] : []),
        stopFragment(whole, build, stopReason),
        completeMessage(whole, build, stopReason),
      ];
    });
  }

  #text(message: OmniMessage, payload: PartialTextPayload): void {
    let segment = this.#existingScope(message)?.text;
    if (segment === undefined || mustReopen(segment, payload)) {
      if (isEmptyStop(payload.event_type, payload.text)) return;
      const scope = this.#scope(message);
      segment = { kind: "text", ...opened(scope, message), text: "" };
      scope.text = segment;
      this.#open.add(segment);
    }
    segment.text += payload.text;
    if (payload.event_type !== "delta") mark(segment, message, payload);
  }

  #thinking(message: OmniMessage, payload: PartialThinkingPayload): void {
    let segment = this.#existingScope(message)?.thinking;
    if (segment === undefined || mustReopen(segment, payload)) {
      if (isEmptyStop(payload.event_type, payload.thinking)) return;
      const scope = this.#scope(message);
      segment = { kind: "thinking", ...opened(scope, message), text: "" };
      scope.thinking = segment;
      this.#open.add(segment);
    }
    segment.text += payload.thinking;
    if (payload.event_type !== "delta") mark(segment, message, payload);
  }

  #call(message: OmniMessage, payload: PartialToolCallPayload): void {
    const toolCallId = payload.tool_call_id;
    let segment = this.#existingScope(message)?.calls.get(toolCallId);
    if (segment === undefined || mustReopen(segment, payload)) {
      if (isEmptyStop(payload.event_type, payload.arguments)) return;
      const scope = this.#scope(message);
      segment = { kind: "tool_call", ...opened(scope, message), toolCallId, name: "", arguments: "" };
      scope.calls.set(toolCallId, segment);
      this.#open.add(segment);
    }
    if (segment.name === "") segment.name = payload.name;
    segment.arguments += payload.arguments;
    if (payload.event_type !== "delta") mark(segment, message, payload);
  }

  #output(message: OmniMessage, payload: PartialToolCallOutputPayload): void {
    const toolCallId = payload.tool_call_id;
    let segment = this.#existingScope(message)?.outputs.get(toolCallId);
    if (segment === undefined || mustReopen(segment, payload)) {
      if (isEmptyStop(payload.event_type, payload.output) && payload.images === undefined) return;
      const scope = this.#scope(message);
      segment = { kind: "tool_output", ...opened(scope, message), toolCallId, output: "", images: [] };
      scope.outputs.set(toolCallId, segment);
      this.#open.add(segment);
    }
    segment.output += payload.output;
    for (const image of payload.images ?? []) segment.images.push(image);
    if (payload.event_type !== "delta") mark(segment, message, payload);
  }

  /** A complete message ends its segment, stopped or not. */
  #finish(message: OmniMessage): void {
    const segment = this.#find(message);
    if (segment !== undefined) this.#forget(segment);
  }

  #find(message: OmniMessage): Segment | undefined {
    const scope = this.#existingScope(message);
    const payload = message.payload;
    switch (payload.type) {
      case "text":
        return payload.role === "assistant" ? scope?.text : undefined;
      case "thinking":
        return scope?.thinking;
      case "tool_call":
        return scope?.calls.get(payload.tool_call_id);
      case "tool_call_output":
        return scope?.outputs.get(payload.tool_call_id);
      default:
        return undefined;
    }
  }

  #forget(segment: Segment): void {
    this.#open.delete(segment);
    const scope = segment.origin === undefined ? this.#own : this.#children.get(scopeKey(segment.origin));
    if (scope === undefined) return;
    if (scope.text === segment) scope.text = undefined;
    if (scope.thinking === segment) scope.thinking = undefined;
    if (segment.kind === "tool_call" && scope.calls.get(segment.toolCallId) === segment) {
      scope.calls.delete(segment.toolCallId);
    }
    if (segment.kind === "tool_output" && scope.outputs.get(segment.toolCallId) === segment) {
      scope.outputs.delete(segment.toolCallId);
    }
    if (segment.origin !== undefined && isIdle(scope)) {
      this.#children.delete(scopeKey(segment.origin));
      if (this.#newestChild === scope) this.#newestChild = undefined;
    }
  }

  #scope(message: OmniMessage): Scope {
    const existing = this.#existingScope(message);
    if (existing !== undefined) return existing;
    const origin = [...(message.origin ?? [])];
    const scope = newScope(origin);
    this.#children.set(scopeKey(origin), scope);
    this.#newestChild = scope;
    return scope;
  }

  #existingScope(message: OmniMessage): Scope | undefined {
    const origin = message.origin;
    if (origin === undefined || origin.length === 0) return this.#own;
    const newest = this.#newestChild;
    if (newest?.origin !== undefined && sameIds(newest.origin, origin)) return newest;
    const scope = this.#children.get(scopeKey(origin));
    if (scope !== undefined) this.#newestChild = scope;
    return scope;
  }
}

function newScope(origin: readonly string[] | undefined): Scope {
  return { origin, text: undefined, thinking: undefined, calls: new Map(), outputs: new Map() };
}

function isIdle(scope: Scope): boolean {
  return scope.text === undefined && scope.thinking === undefined && scope.calls.size === 0 && scope.outputs.size === 0;
}

function scopeKey(origin: readonly string[]): string {
  return JSON.stringify(origin);
}

function sameIds(a: readonly string[], b: readonly string[]): boolean {
  if (a.length !== b.length) return false;
  for (let index = 0; index < a.length; index += 1) if (a[index] !== b[index]) return false;
  return true;
}

function opened(scope: Scope, message: OmniMessage) {
  return { origin: scope.origin, stopped: false, stopReason: undefined, timestamp: message.timestamp };
}

/** A `start` after a `stop` is a new segment; the old one, which lacks its complete message, stays open beside it. */
function mustReopen(segment: Segment, payload: { event_type: FragmentEvent }): boolean {
  return segment.stopped && payload.event_type === "start";
}

function isEmptyStop(event: FragmentEvent, text: string): boolean {
  return event === "stop" && text === "";
}

function mark(
  segment: Segment,
  message: OmniMessage,
  payload: { event_type: FragmentEvent; stop_reason?: StopReason },
): void {
  segment.timestamp = message.timestamp;
  if (payload.event_type !== "stop") return;
  segment.stopped = true;
  segment.stopReason = payload.stop_reason;
}
