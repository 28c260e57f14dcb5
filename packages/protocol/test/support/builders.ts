import { type Builders, createBuilders, type OmniMessage } from "../../src/index.ts";

const startMs = Date.UTC(2026, 0, 31, 12, 0, 0);
export const startTime = "2026-01-31T12:00:00.000Z";

/** Builders whose clock stands still. */
export const at: Builders = createBuilders(() => startMs);

/** Builders whose clock moves by a millisecond with each message. */
export function ticking(): Builders {
  let now = startMs;
  return createBuilders(() => now++);
}

export function modelMessage(payload: object, extra: object = {}): unknown {
  return { timestamp: startTime, type: "model_msg", payload, ...extra };
}

export function eventMessage(payload: object, extra: object = {}): unknown {
  return { timestamp: startTime, type: "event_msg", payload, ...extra };
}

/** Text of the payload, whatever its field is called. */
export function contentOf(message: OmniMessage): string {
  const { payload } = message;
  switch (payload.type) {
    case "text":
    case "partial_text":
      return payload.text;
    case "thinking":
    case "partial_thinking":
      return payload.thinking;
    case "tool_call":
    case "partial_tool_call":
      return payload.arguments;
    case "tool_call_output":
    case "partial_tool_call_output":
      return payload.output;
    default:
      return "";
  }
}
