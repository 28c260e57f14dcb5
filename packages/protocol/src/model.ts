/** Payloads of what a model, a person or a tool says: complete, and in fragments while it streams. */
import type { StopReason } from "./message.ts";

/**
 * Data of a provider that must go back to it unchanged: signatures, encrypted reasoning, item ids.
 * Opaque to everyone but the model adapter that wrote it.
 */
export type Fidelity = Record<string, unknown>;

interface Complete {
  /** Absent means `completed`. */
  stop_reason?: StopReason;
}

interface ModelWritten extends Complete {
  fidelity?: Fidelity;
}

/** Who put a user-side text into the conversation; absent means `user`. */
export type Sender = "user" | "parent_agent" | "harness" | "server";

export interface TextPayload extends ModelWritten {
  type: "text";
  role: "user" | "assistant";
  text: string;
  sender?: Sender;
}

export interface ThinkingPayload extends ModelWritten {
  type: "thinking";
  role: "assistant";
  thinking: string;
}

export interface InlineThinkingPayload extends ModelWritten {
  type: "inline_thinking";
  role: "assistant";
  /** Base64. */
  data: string;
  mime_type: string;
}

export interface ToolCallPayload extends ModelWritten {
  type: "tool_call";
  role: "assistant";
  name: string;
  /** JSON text as the model wrote it; may be empty, which means `{}`. */
  arguments: string;
  tool_call_id: string;
}

export interface ToolCallOutputPayload extends Complete {
  type: "tool_call_output";
  role: "user";
  output: string;
  /** Data URLs. */
  images?: string[];
  tool_call_id: string;
}

export interface ImageUrlPayload extends Complete {
  type: "image_url";
  role: "user";
  /** An http(s) or data URL. */
  image_url: string;
}

export interface InlineDataPayload extends ModelWritten {
  type: "inline_data";
  role: "user" | "assistant";
  /** Base64. */
  data: string;
  mime_type: string;
}

export type FragmentEvent = "start" | "delta" | "stop";

interface Fragment {
  event_type: FragmentEvent;
  /** Only on a `stop`: how the segment ended. Absent means `completed`. */
  stop_reason?: StopReason;
}

export interface PartialTextPayload extends Fragment {
  type: "partial_text";
  role: "assistant";
  text: string;
}

export interface PartialThinkingPayload extends Fragment {
  type: "partial_thinking";
  role: "assistant";
  thinking: string;
}

export interface PartialToolCallPayload extends Fragment {
  type: "partial_tool_call";
  role: "assistant";
  name: string;
  arguments: string;
  tool_call_id: string;
}

export interface PartialToolCallOutputPayload extends Fragment {
  type: "partial_tool_call_output";
  role: "user";
  output: string;
  images?: string[];
  tool_call_id: string;
}

export type CompleteModelPayload =
  | TextPayload
  | ThinkingPayload
  | InlineThinkingPayload
  | ToolCallPayload
  | ToolCallOutputPayload
  | ImageUrlPayload
  | InlineDataPayload;

export type PartialPayload =
  | PartialTextPayload
  | PartialThinkingPayload
  | PartialToolCallPayload
  | PartialToolCallOutputPayload;

export type ModelPayload = CompleteModelPayload | PartialPayload;
