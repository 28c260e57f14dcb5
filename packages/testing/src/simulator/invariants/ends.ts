/** A run that is over leaves nothing behind, and its last word is the right one. */
import type { OmniMessage } from "@coxswain/core";
import type { Observation, RunEnd } from "../observation.ts";
import type { Invariant } from "./invariant.ts";

export const ends: Invariant = {
  name: "ends",
  watch: () => new EndWatcher(),
};

class EndWatcher {
  #last: OmniMessage | undefined;
  #kind: "run" | "compact" = "run";
  #isInterrupted = false;
  #mustAbort = false;
  /** The disk was told of behind what can be the last word. */
  #mayBeOver = false;
  /** How the newest request of a turn ended, if that is how its Task must. */
  #failed: string | undefined;
  #isCompacting = false;

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "process": {
        const abort = seen.resumed?.missing.find(({ payload }) => payload.type === "abort")?.payload;
        return abort?.type === "abort" && !abort.reason ? "a death is recorded as an interrupt by a person" : undefined;
      }
      case "run":
        this.#last = undefined;
        this.#kind = seen.kind;
        this.#isInterrupted = false;
        this.#mayBeOver = false;
        this.#failed = undefined;
        this.#isCompacting = false;
        return undefined;
      case "interrupted":
        // Whoever was told of a disk behind the last word may be too late.
        this.#mustAbort = !this.#mayBeOver;
        this.#isInterrupted = true;
        return undefined;
      case "showed":
        if (this.#last?.payload.type === "abort") return `${seen.message.payload.type} follows abort`;
        if (seen.message.origin !== undefined) return undefined;
        if (isOutage(seen.message)) {
          this.#mayBeOver = this.#last !== undefined && isLastWord(this.#last);
          return undefined;
        }
        this.#mayBeOver = false;
        this.#last = seen.message;
        return this.#showed(seen.message);
      case "steered":
        return this.#isInterrupted && seen.isAccepted ? `${seen.mark} was accepted after the interrupt` : undefined;
      case "ended":
        return this.#ended(seen.end);
      default:
        return undefined;
    }
  }

  #showed({ payload }: OmniMessage): string | undefined {
    if (payload.type === "compaction_begin") this.#isCompacting = true;
    else if (payload.type === "compaction_end") this.#isCompacting = false;
    else if (payload.type === "request_begin") {
      if (this.#failed !== undefined) return `a request follows one that ended as ${this.#failed} for good`;
    }
    if (payload.type === "request_end" && payload.status === "auth" && !this.#isCompacting)
      this.#failed = payload.status;
    return undefined;
  }

  #ended({ leftovers, isReadToEnd }: RunEnd): string | undefined {
    if (leftovers.length > 0) return `left behind: ${leftovers.join(", ")}`;
    if (!isReadToEnd || this.#last === undefined) return undefined;
    const { payload } = this.#last;
    if (this.#isInterrupted && (this.#mustAbort || payload.type === "abort")) {
      return payload.type === "abort" ? undefined : `an interrupted run ends with ${payload.type}, not abort`;
    }
    if (payload.type === "abort") return payload.reason ? undefined : "abort without a reason, and nobody interrupted";
    return this.#kind === "run" && !isLastWord(this.#last) ? `a run ends with ${payload.type}` : undefined;
  }
}

/** Comes whenever a disk refuses a record, also behind the last word. */
function isOutage({ payload }: OmniMessage): boolean {
  return payload.type === "notice" && payload.code === "trace_write_failed";
}

function isLastWord({ payload }: OmniMessage): boolean {
  switch (payload.type) {
    case "request_end":
    case "compaction_end":
      return payload.status !== "timeout";
    case "text":
      return payload.role === "assistant" && payload.stop_reason === "failed";
    default:
      return payload.type === "notice";
  }
}
