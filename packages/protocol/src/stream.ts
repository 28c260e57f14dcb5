/** Folds a stream with fragments into complete messages. */
import { wallClock } from "./build.ts";
import { isPartial } from "./match.ts";
import type { OmniMessage, StopReason } from "./message.ts";
import { type OpenSegment, OpenSegments } from "./open-segments.ts";
import {
  completeMessage,
  deltaFragment,
  type SegmentBuilders,
  segmentText,
  startFragment,
  stopFragment,
} from "./segment.ts";

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
    const isSettled =
      ending === undefined
        ? this.#leftBehind(message)
        : (segment: OpenSegment) => isEnded(segment, message.origin ?? [], ending);
    return this.#segments.take(isSettled).map((segment) => {
      const reason = segment.stopped ? segment.stopReason : ending?.stopReason;
      const timestamp = segment.stopped ? segment.timestamp : message.timestamp;
      return { ...completeMessage(segment, this.#build, reason), timestamp };
    });
  }

  /**
   * What stopped before the segment that this message completes or begins anew. What stopped after it may still get its
   * complete message, and so may parallel calls, in any order: nothing may be given twice.
   */
  #leftBehind(message: OmniMessage): (segment: OpenSegment) => boolean {
    const slot = slotOf(message);
    if (
      slot === undefined ||
      (slot.begins && !this.#segments.some((segment) => segment.stopped && isIn(segment, slot)))
    ) {
      return () => false;
    }
    let reached = false;
    return (segment) => {
      if (reached || !isSameSession(segment, slot.origin)) return false;
      reached = isIn(segment, slot);
      if (reached) return slot.begins;
      if (slot.kind === "tool_output" || segment.kind === "tool_output") return false;
      return segment.stopped && !(slot.kind === "tool_call" && segment.kind === "tool_call");
    };
  }
}

/**
 * A `start`, one `delta` with everything so far, and the `stop` if there was one: shows an open segment to a reader who
 * joins in the middle of it, and whom the rest of the stream then reaches.
 */
export function fragmentsOf(segment: OpenSegment, build: SegmentBuilders = wallClock): OmniMessage[] {
  const text = segmentText(segment);
  const images = segment.kind === "tool_output" ? [...segment.images] : [];
  const fragments = [startFragment(segment, build)];
  if (text !== "" || images.length > 0) fragments.push(deltaFragment(segment, build, { text, images }));
  if (segment.stopped) fragments.push(stopFragment(segment, build, segment.stopReason));
  return fragments.map((fragment) => ({ ...fragment, timestamp: segment.timestamp }));
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

function isEnded(segment: OpenSegment, origin: readonly string[], ending: Ending): boolean {
  if (ending.ends === "everything") return isWithin(segment, origin);
  return isSameSession(segment, origin) && (segment.kind !== "tool_output" || ending.ends === "model and tools");
}

/** Where a message belongs: a Session can have one segment open for each. */
interface Slot {
  readonly origin: readonly string[];
  /** `undefined`: something that a model wrote and that is never streamed. */
  readonly kind: OpenSegment["kind"] | undefined;
  readonly toolCallId: string | undefined;
  /** A `start`; else the complete message. */
  readonly begins: boolean;
}

const kinds: ReadonlyMap<string, OpenSegment["kind"]> = new Map([
  ["text", "text"],
  ["partial_text", "text"],
  ["thinking", "thinking"],
  ["partial_thinking", "thinking"],
  ["tool_call", "tool_call"],
  ["partial_tool_call", "tool_call"],
  ["tool_call_output", "tool_output"],
  ["partial_tool_call_output", "tool_output"],
]);

function slotOf(message: OmniMessage): Slot | undefined {
  if (message.type !== "model_msg") return undefined;
  const { payload, origin = [] } = message;
  const begins = isPartial(message);
  if (begins && message.payload.event_type !== "start") return undefined;
  const kind = kinds.get(payload.type);
  if (kind !== "tool_output" && payload.role !== "assistant") return undefined;
  return { origin, kind, toolCallId: "tool_call_id" in payload ? payload.tool_call_id : undefined, begins };
}

function isIn(segment: OpenSegment, slot: Slot): boolean {
  if (segment.kind !== slot.kind || !isSameSession(segment, slot.origin)) return false;
  return !("toolCallId" in segment) || segment.toolCallId === slot.toolCallId;
}

function isSameSession(segment: OpenSegment, origin: readonly string[]): boolean {
  return (segment.origin?.length ?? 0) === origin.length && isWithin(segment, origin);
}

/** Of that Session or of one below it. */
function isWithin(segment: OpenSegment, origin: readonly string[]): boolean {
  return origin.every((id, index) => id === segment.origin?.[index]);
}
