/** Requests and compactions begin and end in pairs; a compaction's requests lie inside it, nothing else crosses. */
import type { OmniMessage } from "@coxswain/core";
import type { Observation } from "../observation.ts";
import type { Invariant } from "./invariant.ts";

export const brackets: Invariant = {
  name: "brackets",
  watch: () => new BracketWatcher(),
};

class BracketWatcher {
  #isInRequest = false;
  #isInCompaction = false;
  #isDiskAway = false;

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "landed":
        return this.#landed(seen.record);
      case "request":
        return (seen.purpose === "summary") === this.#isInCompaction || this.#isDiskAway
          ? undefined
          : `a request for a ${seen.purpose} ${this.#isInCompaction ? "inside" : "outside"} of a compaction`;
      case "disk":
        this.#isDiskAway = seen.is !== "working";
        return undefined;
      case "process":
        this.#isDiskAway = false;
        if (seen.resumed?.stillMissing.length) return "records are missing again once they have been written";
        return this.#isOpen ? `resumed inside a ${this.#name}` : undefined;
      case "ended":
        return this.#isOpen && seen.end.records !== undefined ? `the run ends inside a ${this.#name}` : undefined;
      default:
        return undefined;
    }
  }

  get #isOpen(): boolean {
    return this.#isInRequest || this.#isInCompaction;
  }

  get #name(): string {
    return this.#isInRequest ? "request" : "compaction";
  }

  #landed({ type, payload }: OmniMessage): string | undefined {
    const problem = `${payload.type ?? type} inside a ${this.#name}`;
    switch (payload.type) {
      case "request_begin":
        if (this.#isInRequest) return problem;
        this.#isInRequest = true;
        return undefined;
      case "request_end":
        if (!this.#isInRequest) return "request_end without request_begin";
        this.#isInRequest = false;
        return undefined;
      case "compaction_begin":
        if (this.#isOpen) return problem;
        this.#isInCompaction = true;
        return undefined;
      case "compaction_end":
        if (!this.#isInCompaction || this.#isInRequest) return "compaction_end outside of its compaction";
        this.#isInCompaction = false;
        return undefined;
      case undefined:
      case "abort":
        return this.#isOpen ? problem : undefined;
      default:
        return undefined;
    }
  }
}
