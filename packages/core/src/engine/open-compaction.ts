/** A compaction between its begin and its end: the ledger's memory of it. Its requests are no turns. */
import { extractSummary, type OmniMessage } from "@coxswain/protocol";

export class OpenCompaction {
  readonly #summarizes: boolean;
  #isInRequest = false;
  /** Its first request is to come, or another try was announced or asked for. */
  #mayAsk = true;
  /** Texts of the newest request. */
  #reply: string[] = [];

  constructor(summarizes: boolean) {
    this.#summarizes = summarizes;
  }

  get isInRequest(): boolean {
    return this.#isInRequest;
  }

  /** Of a compaction that completes; none when the context is dropped. */
  get summary(): string | undefined {
    return this.#summarizes ? extractSummary(this.#reply.join("\n\n")) : undefined;
  }

  /** Whether the record belongs to it; one that cannot says that the compaction was never closed. */
  take({ payload }: OmniMessage): boolean {
    switch (payload.type) {
      case "request_begin":
        // The line that closed the compaction cannot be read: this is a turn.
        if (!this.#mayAsk) return false;
        this.#mayAsk = false;
        this.#isInRequest = true;
        this.#reply = [];
        return true;
      case "request_end":
        this.#isInRequest = false;
        this.#mayAsk = payload.retry_in_ms !== undefined;
        return true;
      case "text":
        if (payload.role === "assistant") this.#reply.push(payload.text);
        else if (payload.sender === "harness") this.#mayAsk = true;
        return payload.role === "assistant" || payload.sender === "harness";
      case "thinking":
      case "inline_thinking":
      case "tool_call":
      case "notice":
        return true;
      default:
        return false;
    }
  }
}
