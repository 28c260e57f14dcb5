/** One stretch of a stream that has started and has no complete message yet, and the messages that end it. */
import type { Builders } from "./build.ts";
import { unreachable } from "./match.ts";
import type { OmniMessage, StopReason } from "./message.ts";

interface SegmentOf<K extends string> {
  readonly kind: K;
  /** As in the envelope; absent for this Session. */
  readonly origin: readonly string[] | undefined;
  /** Set by its `stop`: only the complete message is missing. */
  stopped: boolean;
  /** What its `stop` said. */
  stopReason: StopReason | undefined;
  /** Of its newest `start` or `stop`. */
  timestamp: string;
}

export interface TextSegment extends SegmentOf<"text"> {
  text: string;
}

export interface ThinkingSegment extends SegmentOf<"thinking"> {
  text: string;
}

export interface ToolCallSegment extends SegmentOf<"tool_call"> {
  readonly toolCallId: string;
  name: string;
  arguments: string;
}

export interface ToolOutputSegment extends SegmentOf<"tool_output"> {
  readonly toolCallId: string;
  output: string;
  images: string[];
}

export type Segment = TextSegment | ThinkingSegment | ToolCallSegment | ToolOutputSegment;

/** The builders that closing a segment takes. */
export type SegmentBuilders = Pick<
  Builders,
  | "assistantText"
  | "thinking"
  | "toolCall"
  | "toolCallOutput"
  | "partialText"
  | "partialThinking"
  | "partialToolCall"
  | "partialToolCallOutput"
>;

/** Everything the segment said so far as one complete message. */
export function completeMessage(
  segment: Readonly<Segment>,
  build: SegmentBuilders,
  stopReason: StopReason | undefined,
): OmniMessage {
  switch (segment.kind) {
    case "text":
      return inOrigin(build.assistantText(segment.text, { stopReason }), segment);
    case "thinking":
      return inOrigin(build.thinking(segment.text, { stopReason }), segment);
    case "tool_call": {
      const { name, toolCallId } = segment;
      return inOrigin(build.toolCall({ name, toolCallId, arguments: segment.arguments, stopReason }), segment);
    }
    case "tool_output": {
      const { output, toolCallId, images } = segment;
      return inOrigin(build.toolCallOutput({ output, toolCallId, images: [...images], stopReason }), segment);
    }
    default:
      return unreachable(segment);
  }
}

export function startFragment(segment: Readonly<Segment>, build: SegmentBuilders): OmniMessage {
  return fragment(segment, build, { eventType: "start", text: "", images: [] });
}

export function deltaFragment(
  segment: Readonly<Segment>,
  build: SegmentBuilders,
  content: { text: string; images: string[] },
): OmniMessage {
  return fragment(segment, build, { eventType: "delta", ...content });
}

export function stopFragment(
  segment: Readonly<Segment>,
  build: SegmentBuilders,
  stopReason: StopReason | undefined,
): OmniMessage {
  return fragment(segment, build, { eventType: "stop", text: "", images: [], stopReason });
}

/** What the segment holds, whatever its kind calls it. */
export function segmentText(segment: Readonly<Segment>): string {
  switch (segment.kind) {
    case "text":
    case "thinking":
      return segment.text;
    case "tool_call":
      return segment.arguments;
    case "tool_output":
      return segment.output;
    default:
      return unreachable(segment);
  }
}

interface FragmentContent {
  eventType: "start" | "delta" | "stop";
  text: string;
  images: string[];
  stopReason?: StopReason | undefined;
}

function fragment(segment: Readonly<Segment>, build: SegmentBuilders, content: FragmentContent): OmniMessage {
  const { eventType, text, images, stopReason } = content;
  switch (segment.kind) {
    case "text":
      return inOrigin(build.partialText(eventType, text, stopReason), segment);
    case "thinking":
      return inOrigin(build.partialThinking(eventType, text, stopReason), segment);
    case "tool_call": {
      const { name, toolCallId } = segment;
      return inOrigin(build.partialToolCall({ eventType, name, toolCallId, arguments: text, stopReason }), segment);
    }
    case "tool_output": {
      const { toolCallId } = segment;
      return inOrigin(
        build.partialToolCallOutput({ eventType, toolCallId, output: text, images, stopReason }),
        segment,
      );
    }
    default:
      return unreachable(segment);
  }
}

function inOrigin(message: OmniMessage, segment: Readonly<Segment>): OmniMessage {
  return segment.origin === undefined ? message : { ...message, origin: [...segment.origin] };
}
