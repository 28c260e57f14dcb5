/** Guards that narrow, and the end of an exhaustive `switch`. */
import type { EventPayload } from "./event.ts";
import type { OmniMessage, OmniPayload, SessionMetaPayload, StopReason } from "./message.ts";
import type { CompleteModelPayload, ModelPayload, PartialPayload } from "./model.ts";

export function isSessionMeta(message: OmniMessage): message is OmniMessage<SessionMetaPayload> {
  return message.type === "session_meta";
}

export function isModelMessage(message: OmniMessage): message is OmniMessage<ModelPayload> {
  return message.type === "model_msg";
}

export function isEventMessage(message: OmniMessage): message is OmniMessage<EventPayload> {
  return message.type === "event_msg";
}

/** A fragment of a stream. Partials are shown, never recorded. */
export function isPartial(message: OmniMessage): message is OmniMessage<PartialPayload> {
  return message.type === "model_msg" && message.payload.type.startsWith("partial_");
}

export function isCompleteModelMessage(message: OmniMessage): message is OmniMessage<CompleteModelPayload> {
  return message.type === "model_msg" && !message.payload.type.startsWith("partial_");
}

/** Whether it came to its good end, which is said by saying nothing. */
export function isCompleted(payload: { readonly stop_reason?: StopReason | undefined }): boolean {
  return payload.stop_reason === undefined || payload.stop_reason === "completed";
}

type PayloadType = NonNullable<OmniPayload["type"]>;

export function isPayload<T extends PayloadType>(
  message: OmniMessage,
  type: T,
): message is OmniMessage<Extract<OmniPayload, { type: T }>> {
  return message.payload.type === type;
}

/** Compile error when a variant is missing; at run time names the value that nobody handled. */
export function unreachable(value: never): never {
  throw new TypeError(`unhandled value: ${JSON.stringify(value)}`);
}
