/** How a Task ended, from its messages. */
import { emptyTokenCounts, isPayload, type OmniMessage, type StopReason, type TokenCounts } from "@coxswain/protocol";
import { exitCodes } from "./exit-code.ts";

export class TaskOutcome {
  /** In words, when it did not end well. */
  reason: string | undefined;
  requests = 0;
  tokens: TokenCounts = emptyTokenCounts();
  #lastStatus: StopReason = "completed";
  #isInRequest = false;
  #ending: "done" | "stopped" | "aborted" = "done";

  add(message: OmniMessage): void {
    if (message.origin !== undefined) return;
    if (isPayload(message, "request_begin")) {
      this.requests += 1;
      this.#isInRequest = true;
    } else if (isPayload(message, "request_end")) {
      this.#isInRequest = false;
      this.#lastStatus = message.payload.status;
    } else if (isPayload(message, "token_usage")) {
      this.tokens = message.payload.session;
    } else if (isPayload(message, "abort")) {
      this.#ending = "aborted";
      this.reason = message.payload.reason ?? undefined;
    } else if (isPayload(message, "text") && !this.#isInRequest && message.payload.stop_reason === "failed") {
      // Between requests only the engine speaks: it stopped at the cap of turns.
      this.#ending = "stopped";
      this.reason = "the cap of turns is reached; go on with the session, or raise --max-turns";
    }
  }

  get exitCode(): number {
    switch (this.#ending) {
      case "done":
        return exitCodes.done;
      case "stopped":
        return exitCodes.failed;
      case "aborted":
        if (this.reason === undefined) return exitCodes.interrupted;
        return this.#lastStatus === "auth" ? exitCodes.auth : exitCodes.failed;
    }
  }
}
