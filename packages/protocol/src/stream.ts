/** Folds a stream with fragments into complete messages. */
import {
  assistantText,
  partialText,
  partialThinking,
  partialToolCall,
  partialToolCallOutput,
  thinking,
  toolCall,
  toolCallOutput,
} from "./build.ts";
import { isPartial } from "./match.ts";
import type { OmniMessage, StopReason } from "./message.ts";
import { type OpenSegment, OpenSegments } from "./open-segments.ts";
import { completeMessage, deltaFragment, type SegmentBuilders, segmentText, startFragment } from "./segment.ts";

const wallClock: SegmentBuilders = {
  assistantText,
  thinking,
  toolCall,
  toolCallOutput,
  partialText,
  partialThinking,
  partialToolCall,
  partialToolCallOutput,
};

export class PartialAggregator {
  readonly #segments = new OpenSegments();
  readonly #build: SegmentBuilders;

  /** @param build Stamps the messages that `close` makes. Default: builders over the wall clock. */
  constructor(build: SegmentBuilders = wallClock) {
    this.#build = build;
  }

  /**
   * The complete messages that this message finishes, in order. Complete messages and events pass through; the complete
   * message of a segment stands for what was aggregated. Only when a stream leaves it out is the aggregated one given,
   * as soon as the stream goes on without it; stamped as the segment's `stop`.
   */
  push(message: OmniMessage): OmniMessage[] {
    const settled = this.#settledBy(message);
    this.#segments.track(message);
    if (!isPartial(message)) settled.push(message);
    return settled;
  }

  /** Closes what is open: for each segment its `stop` and its complete message so far, with the reason. */
  close(stopReason: StopReason): OmniMessage[] {
    return this.#segments.close(stopReason, this.#build);
  }

  /** What is open, in order of opening. */
  open(): OpenSegment[] {
    return this.#segments.open();
  }

  #settledBy(message: OmniMessage): OmniMessage[] {
    if (this.#segments.size === 0 || isDelta(message)) return [];
    const ending = endingOf(message);
    return this.#segments
      .take((segment) => isSettled(segment, message, ending))
      .map((segment) => {
        const reason = segment.stopped ? segment.stopReason : ending?.stopReason;
        const timestamp = segment.stopped ? segment.timestamp : message.timestamp;
        return { ...completeMessage(segment, this.#build, reason), timestamp };
      });
  }
}

/** A start and one delta with everything so far: shows an open segment to a reader who joins in the middle of it. */
export function fragmentsOf(segment: OpenSegment, build: SegmentBuilders = wallClock): OmniMessage[] {
  const text = segmentText(segment);
  const images = segment.kind === "tool_output" ? segment.images : [];
  const start = { ...startFragment(segment, build), timestamp: segment.timestamp };
  if (text === "" && images.length === 0) return [start];
  return [start, { ...deltaFragment(segment, build, { text, images }), timestamp: segment.timestamp }];
}

function isDelta(message: OmniMessage): boolean {
  return isPartial(message) && message.payload.event_type === "delta";
}

/** What an event says about everything that its Session has open. */
interface Ending {
  /** Tools outlive the request that called them; an interrupt ends the children's work as well. */
  ends: "model" | "model and tools" | "everything";
  /** Of segments that nobody stopped. */
  stopReason: StopReason | undefined;
}

function endingOf(message: OmniMessage): Ending | undefined {
  switch (message.payload.type) {
    case "token_usage":
      return { ends: "model", stopReason: undefined };
    case "request_end":
      return { ends: "model", stopReason: message.payload.status };
    case "request_begin":
    case "compaction_begin":
      return { ends: "model and tools", stopReason: "malformed" };
    case "abort":
      return { ends: "everything", stopReason: "aborted" };
    default:
      return undefined;
  }
}

function isSettled(segment: OpenSegment, message: OmniMessage, ending: Ending | undefined): boolean {
  if (!isWithin(segment, message)) return false;
  if (ending?.ends === "everything") return true;
  if (segment.origin?.length !== (message.origin?.length || undefined)) return false;
  if (ending !== undefined) return segment.kind !== "tool_output" || ending.ends === "model and tools";
  return segment.stopped && goesOnWithout(segment, message);
}

/** After a `stop`: the producer is already at something else, so that the complete message will not come. */
function goesOnWithout(segment: OpenSegment, message: OmniMessage): boolean {
  const payload = message.payload;
  switch (payload.type) {
    case "partial_text":
      return segment.kind === "text" && payload.event_type === "start";
    case "partial_thinking":
      return segment.kind === "thinking" && payload.event_type === "start";
    case "partial_tool_call":
      return segment.kind === "tool_call" && payload.event_type === "start" && isCallOf(segment, payload);
    case "partial_tool_call_output":
      return segment.kind === "tool_output" && payload.event_type === "start" && isCallOf(segment, payload);
    case "text":
      return payload.role === "assistant" && segment.kind !== "text" && segment.kind !== "tool_output";
    case "thinking":
      return segment.kind !== "thinking" && segment.kind !== "tool_output";
    case "tool_call":
      return segment.kind !== "tool_output" && !(segment.kind === "tool_call" && isCallOf(segment, payload));
    case "inline_thinking":
    case "inline_data":
      return payload.role === "assistant" && segment.kind !== "tool_output";
    default:
      return false;
  }
}

function isCallOf(segment: { toolCallId: string }, payload: { tool_call_id: string }): boolean {
  return segment.toolCallId === payload.tool_call_id;
}

/** Of the message's Session or of one below it. */
function isWithin(segment: OpenSegment, message: OmniMessage): boolean {
  const ids = segment.origin ?? [];
  return (message.origin ?? []).every((id, index) => id === ids[index]);
}
