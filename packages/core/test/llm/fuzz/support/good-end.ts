/**
 * Where the end of an answer is, read off its bytes: a small reading of events of its own, which shares nothing with
 * what is tested. An event counts when its data is whole, also without the blank line after it.
 */
import type { WireProtocol } from "../../support/streams.ts";

/** `torn`: the bytes stop inside an event. `broken`: an event cannot be read, or says that something went wrong. */
export type End = "good" | "none" | "torn" | "broken";

/** Of a body that ends here without an error. */
export function endOf(protocol: WireProtocol, bytes: Uint8Array): End {
  const walk = walks[protocol]();
  for (const { data, isClosed } of eventsIn(bytes)) {
    const value = valueOf(data);
    if (value === undefined) return isClosed ? "broken" : "torn";
    const end = walk(value);
    if (end !== undefined) return end;
  }
  // Chat completions that have told their finish reason may simply stop.
  return walk(undefined) ?? "none";
}

/** Whether the answer is over here, good or bad, so that it does not matter how the connection goes on. */
export function isOver(protocol: WireProtocol, bytes: Uint8Array): boolean {
  const walk = walks[protocol]();
  for (const { data, isClosed } of eventsIn(bytes)) {
    const value = valueOf(data);
    const end = value === undefined ? "broken" : walk(value);
    // Gemini's usage may follow its finish reason.
    if (isClosed && end !== undefined && !(end === "good" && protocol === "gemini")) return true;
  }
  return false;
}

interface WireEvent {
  data: string;
  /** A blank line follows. */
  isClosed: boolean;
}

function eventsIn(bytes: Uint8Array): WireEvent[] {
  const lines = new TextDecoder().decode(bytes).split(/\r\n|\n|\r/);
  const events: WireEvent[] = [];
  let open: string[] = [];
  const close = (isClosed: boolean): void => {
    const data = open.join("\n");
    if (data.trim() !== "") events.push({ data, isClosed });
    open = [];
  };
  for (const [index, line] of lines.entries()) {
    if (line === "" && index < lines.length - 1) close(true);
    else if (line.startsWith("data:")) open.push(line.slice(line[5] === " " ? 6 : 5));
  }
  close(false);
  return events;
}

const done = "[DONE]";

function valueOf(data: string): unknown {
  if (data.trim() === done) return done;
  try {
    return JSON.parse(data);
  } catch {
    return undefined;
  }
}

/** Takes the events in order, and `undefined` for the end of the body. */
type Walk = (value: unknown) => End | undefined;

const walks: Record<WireProtocol, () => Walk> = {
  "openai-chat": () => {
    let isFinished = false;
    return (value) => {
      if (value === undefined) return isFinished ? "good" : undefined;
      if (value === done) return isFinished ? "good" : "broken";
      if (fieldOf(value, "error") || fieldOf(value, "object") === "error") return "broken";
      const reason = fieldOf(fieldOf(value, "choices"), 0, "finish_reason");
      if (typeof reason === "string" && /^(error|network_error|insufficient_system_resource)$/.test(reason))
        return "broken";
      if (reason && reason !== "null") isFinished = true;
      return undefined;
    };
  },
  "openai-responses": () => (value) => {
    const type = fieldOf(value, "type");
    if (type === "response.completed" || type === "response.incomplete") return "good";
    return type === "response.failed" || type === "error" ? "broken" : undefined;
  },
  anthropic: () => (value) => {
    const type = fieldOf(value, "type");
    if (type === "message_stop") return "good";
    return type === "error" ? "broken" : undefined;
  },
  gemini: () => (value) => {
    if (fieldOf(value, "error")) return "broken";
    return fieldOf(fieldOf(value, "candidates"), 0, "finishReason") === undefined ? undefined : "good";
  },
};

function fieldOf(value: unknown, ...path: (string | number)[]): unknown {
  return path.reduce<unknown>(
    (inner, key) => (typeof inner === "object" && inner !== null ? (inner as Record<string, unknown>)[key] : undefined),
    value,
  );
}
