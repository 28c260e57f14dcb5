/** Each request starts with what the last committed request of its context sent and got. */
import { isCompleted, type OmniMessage } from "@coxswain/core";
import type { Observation } from "../observation.ts";
import { comparable } from "../texts.ts";
import type { Invariant } from "./invariant.ts";

export const prefix: Invariant = {
  name: "prefix",
  watch: () => new PrefixWatcher(),
};

class PrefixWatcher {
  /** What the newest context has sent and got, as the Trace knows it. */
  #committed: string[] = [];
  /** What requests sent, by how many had begun in their process; a disk that holds records back is behind. */
  readonly #inputs = new Map<number, string[]>();
  #begun = { forEngine: 0, inTrace: 0 };
  #said: string[] = [];
  /** Of the first attempt at the newest request; each other attempt begins with it. */
  #firstInput: readonly string[] = [];
  #isRetry = false;
  #isInCompaction = false;
  #isInTurn = false;
  #newestContext = 0;
  #isDiskAway = false;

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "disk":
        this.#isDiskAway = seen.is !== "working";
        return undefined;
      case "process":
        this.#isInTurn = false;
        this.#isInCompaction = false;
        this.#isDiskAway = false;
        this.#begun = { forEngine: 0, inTrace: 0 };
        return undefined;
      case "settled":
        if (seen.record.payload.type === "request_begin") this.#begun.forEngine += 1;
        if (seen.record.payload.type === "request_end") {
          this.#isRetry = seen.record.payload.retry_in_ms !== undefined;
        }
        return undefined;
      case "run":
        this.#isRetry = false;
        return undefined;
      case "request":
        return this.#request(seen);
      case "landed":
        this.#landed(seen.record);
        return undefined;
      case "ended": {
        const { state, modelHistory, records } = seen.end;
        if (records === undefined) return undefined;
        const problem = difference(state.history.map(comparable), this.#committed);
        if (problem !== undefined) return `the engine's history: ${problem}`;
        const ofModel = difference(modelHistory.map(comparable), this.#committed);
        return ofModel === undefined ? undefined : `the model's history: ${ofModel}`;
      }
      default:
        return undefined;
    }
  }

  #request(request: Extract<Observation, { at: "request" }>): string | undefined {
    if (request.isStale || request.context < this.#newestContext) return "a request goes to a context that has ended";
    this.#newestContext = request.context;
    const input = request.input.map(comparable);
    if (!this.#isRetry) this.#firstInput = input;
    else if (this.#firstInput.some((message, at) => message !== input[at])) {
      return "a request that is sent again does not begin with its input";
    }
    this.#inputs.set(this.#begun.forEngine, input);
    return this.#isDiskAway ? undefined : difference(request.history.map(comparable), this.#committed);
  }

  #landed(record: OmniMessage): void {
    const { payload } = record;
    switch (payload.type) {
      case undefined:
        this.#committed = [];
        return;
      case "request_begin":
        this.#begun.inTrace += 1;
        this.#isInTurn = !this.#isInCompaction;
        this.#said = [];
        return;
      case "text":
      case "thinking":
      case "tool_call":
        if (payload.role === "assistant" && this.#isInTurn && (payload.type !== "tool_call" || isCompleted(payload))) {
          this.#said.push(comparable(record));
        }
        return;
      case "token_usage":
        if (this.#isInTurn) this.#committed.push(...(this.#inputs.get(this.#begun.inTrace) ?? []), ...this.#said);
        this.#isInTurn = false;
        return;
      case "request_end":
        this.#isInTurn = false;
        return;
      case "compaction_begin":
        this.#isInCompaction = true;
        return;
      case "compaction_end":
        this.#isInCompaction = false;
        if (payload.status === "completed") this.#committed = [];
        return;
      default:
        return;
    }
  }
}

function difference(found: readonly string[], expected: readonly string[]): string | undefined {
  for (const [index, message] of expected.entries()) {
    if (found[index] !== message) return `at ${index} is ${found[index] ?? "nothing"}, and it was ${message}`;
  }
  return found.length === expected.length
    ? undefined
    : `at ${expected.length} is ${found[expected.length]}, and it was the end`;
}
