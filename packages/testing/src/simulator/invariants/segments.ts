/** Each start has its stop and its complete message; deltas joined equal it, tool outputs aside. */
import { isPartial, type OmniMessage } from "@coxswain/core";
import type { Observation } from "../observation.ts";
import { wellFormed } from "../texts.ts";
import type { Invariant } from "./invariant.ts";

interface Segment {
  text: string;
  hasStopped: boolean;
}

export const segments: Invariant = {
  name: "closed segments",
  watch: () => new SegmentWatcher(),
};

class SegmentWatcher {
  readonly #open = new Map<string, Segment>();

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "run":
      case "died":
        this.#open.clear();
        return undefined;
      case "showed":
        return this.#showed(seen.message);
      case "ended":
        if (!seen.end.isReadToEnd || this.#open.size === 0) return undefined;
        return `left open: ${[...this.#open.keys()].join("; ")}`;
      default:
        return undefined;
    }
  }

  #showed(message: OmniMessage): string | undefined {
    const { payload } = message;
    if (payload.type === undefined) return undefined;
    const origin = message.origin?.join("/") ?? "";
    const id = "tool_call_id" in payload ? payload.tool_call_id : "";
    if (isPartial(message)) {
      const key = `${origin} ${payload.type.slice("partial_".length)} ${id}`;
      return this.#fragment(key, message.payload.event_type, textOf(message));
    }
    if (payload.type === "text" && payload.role === "user") return undefined;
    const key = `${origin} ${payload.type} ${id}`;
    const segment = this.#open.get(key);
    if (segment === undefined) return undefined;
    this.#open.delete(key);
    if (!segment.hasStopped) return `${key}: a complete message without a stop`;
    if (payload.type === "tool_call_output" || sameText(segment.text, textOf(message))) return undefined;
    return `${key}: deltas say ${JSON.stringify(segment.text)}, the message ${JSON.stringify(textOf(message))}`;
  }

  #fragment(key: string, event: "start" | "delta" | "stop", text: string): string | undefined {
    const segment = this.#open.get(key);
    if (event === "start") {
      if (segment !== undefined) return `${key}: a start inside another`;
      this.#open.set(key, { text, hasStopped: false });
      return undefined;
    }
    if (segment === undefined || segment.hasStopped) return `${key}: a ${event} without a start`;
    segment.text += text;
    segment.hasStopped = event === "stop";
    return undefined;
  }
}

function sameText(one: string, other: string): boolean {
  return one === other || wellFormed(JSON.stringify(one)) === wellFormed(JSON.stringify(other));
}

function textOf({ payload }: OmniMessage): string {
  if ("text" in payload) return payload.text;
  if ("thinking" in payload) return payload.thinking;
  if ("arguments" in payload) return payload.arguments;
  return "output" in payload && typeof payload.output === "string" ? payload.output : "";
}
