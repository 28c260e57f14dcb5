/** One stretch of a reply while it streams: turns pieces of text into fragments, and its end into the complete message. */
import type { SharedV3ProviderMetadata } from "@ai-sdk/provider";
import type { Builders, Fidelity, OmniMessage, StopReason } from "@coxswain/protocol";
import { deepWellFormed, endsInHighSurrogate } from "./well-formed.ts";

export type SegmentKind = "text" | "thinking" | "tool_call";

export class ReplySegment {
  readonly kind: SegmentKind;
  /** Of a call: the name, and the id that we gave. */
  readonly name: string;
  readonly toolCallId: string;
  /** What the deltas so far amount to. */
  text = "";
  metadata: SharedV3ProviderMetadata | undefined;
  #started = false;
  /** Half a character that waits for its other half. */
  #heldBack = "";
  readonly #build: Builders;
  readonly #emit: (message: OmniMessage) => void;

  constructor(
    call: { kind: SegmentKind; name?: string; toolCallId?: string },
    build: Builders,
    emit: (message: OmniMessage) => void,
  ) {
    this.kind = call.kind;
    this.name = call.name ?? "";
    this.toolCallId = call.toolCallId ?? "";
    this.#build = build;
    this.#emit = emit;
  }

  start(): void {
    if (this.#started) return;
    this.#started = true;
    this.#emit(this.#fragment("start", ""));
  }

  /** An empty piece opens nothing: a segment without text is no segment. */
  append(piece: string): void {
    if (piece === "") return;
    let text = this.#heldBack === "" ? piece : this.#heldBack + piece;
    this.#heldBack = "";
    if (endsInHighSurrogate(text)) {
      this.#heldBack = text.slice(-1);
      text = text.slice(0, -1);
      if (text === "") return;
    }
    this.#delta(text.toWellFormed());
  }

  mergeMetadata(metadata: SharedV3ProviderMetadata | undefined): void {
    if (metadata === undefined) return;
    this.metadata = this.metadata === undefined ? metadata : joinMetadata(this.metadata, metadata);
  }

  /** Stop and complete message; gives the latter, or nothing for a segment that never held anything. */
  close(options: { stopReason?: StopReason | undefined; own?: Fidelity | undefined } = {}): OmniMessage | undefined {
    if (this.#heldBack !== "") {
      this.#heldBack = "";
      this.#delta("\ufffd");
    }
    const fidelity = this.#fidelity(options.own);
    const { stopReason } = options;
    const isHiddenThinking = this.kind === "thinking" && fidelity !== undefined && stopReason === undefined;
    if (!this.#started && !isHiddenThinking) return undefined;
    if (this.#started) this.#emit(this.#fragment("stop", "", stopReason));
    const message = this.#complete(stopReason, fidelity);
    this.#emit(message);
    return message;
  }

  #fidelity(own: Fidelity | undefined): Fidelity | undefined {
    if (this.metadata === undefined && own === undefined) return undefined;
    return deepWellFormed({ ...this.metadata, ...own }) as Fidelity;
  }

  #delta(text: string): void {
    if (!this.#started) this.start();
    this.text += text;
    this.#emit(this.#fragment("delta", text));
  }

  #fragment(eventType: "start" | "delta" | "stop", text: string, stopReason?: StopReason): OmniMessage {
    switch (this.kind) {
      case "text":
        return this.#build.partialText(eventType, text, stopReason);
      case "thinking":
        return this.#build.partialThinking(eventType, text, stopReason);
      case "tool_call": {
        const { name, toolCallId } = this;
        return this.#build.partialToolCall({ eventType, name, toolCallId, arguments: text, stopReason });
      }
    }
  }

  #complete(stopReason: StopReason | undefined, fidelity: Fidelity | undefined): OmniMessage {
    switch (this.kind) {
      case "text":
        return this.#build.assistantText(this.text, { stopReason, fidelity });
      case "thinking":
        return this.#build.thinking(this.text, { stopReason, fidelity });
      case "tool_call": {
        const { name, toolCallId } = this;
        return this.#build.toolCall({ name, toolCallId, arguments: this.text, stopReason, fidelity });
      }
    }
  }
}

/** Later values replace earlier ones, but a signature that comes in pieces is joined. */
function joinMetadata(old: SharedV3ProviderMetadata, added: SharedV3ProviderMetadata): SharedV3ProviderMetadata {
  const joined = { ...old };
  for (const [namespace, values] of Object.entries(added)) {
    const before = joined[namespace];
    const signature = before?.["signature"];
    const more = values["signature"];
    joined[namespace] = { ...before, ...values };
    if (typeof signature === "string" && typeof more === "string") {
      joined[namespace] = { ...joined[namespace], signature: signature + more };
    }
  }
  return joined;
}
