/** No approved call is executed twice, and what is too late is neither shown nor written. */
import { isCompleted, isPayload, type OmniMessage } from "@coxswain/core";
import type { Observation } from "../observation.ts";
import type { Invariant } from "./invariant.ts";

export const execution: Invariant = {
  name: "at most once",
  watch: () => new ExecutionWatcher(),
};

class ExecutionWatcher {
  /** How often each call of this process was started, since the model made it. */
  readonly #starts = new Map<string, number>();
  /** Calls that may still have an output. */
  readonly #unanswered = new Set<string>();
  #isRunning = false;
  #isInterrupted = false;

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "process":
        // What an earlier process was asked to do is not this one's to start.
        this.#starts.clear();
        this.#unanswered.clear();
        this.#isRunning = false;
        return undefined;
      case "run":
        this.#isRunning = true;
        this.#isInterrupted = false;
        return undefined;
      case "interrupted":
        this.#isInterrupted = true;
        return undefined;
      case "ended":
        this.#isRunning = false;
        // Of what a hanging disk was given, outputs may yet be written.
        if (seen.end.records !== undefined) this.#unanswered.clear();
        return undefined;
      case "said":
        if (isPayload(seen.message, "tool_call") && isCompleted(seen.message.payload)) {
          this.#starts.set(seen.message.payload.tool_call_id, 0);
        }
        return undefined;
      case "tool":
        return this.#started(seen.call.payload.tool_call_id);
      case "asked":
        return this.#isInterrupted || !this.#isRunning ? "the host is asked after an interrupt" : undefined;
      case "request":
        return this.#isInterrupted || !this.#isRunning ? "a request leaves after an interrupt" : undefined;
      case "showed":
        return this.#isRunning ? undefined : `${seen.message.payload.type} is shown after the end of its run`;
      case "settled":
        return this.#recorded(seen.record);
      default:
        return undefined;
    }
  }

  #started(id: string): string | undefined {
    const starts = this.#starts.get(id);
    if (starts === undefined) return `${id} is started, and no model of this process has called it`;
    if (this.#isInterrupted || !this.#isRunning) return `${id} is started after an interrupt`;
    this.#starts.set(id, starts + 1);
    return starts > 0 ? `${id} is started for the second time` : undefined;
  }

  #recorded(record: OmniMessage): string | undefined {
    if (isPayload(record, "tool_call") && isCompleted(record.payload)) {
      this.#unanswered.add(record.payload.tool_call_id);
    }
    if (!isPayload(record, "tool_call_output")) return undefined;
    const id = record.payload.tool_call_id;
    return this.#unanswered.delete(id) ? undefined : `an output of ${id} is written, which is owed none`;
  }
}
