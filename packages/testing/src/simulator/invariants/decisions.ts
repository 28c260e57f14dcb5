/** One decision a call, and no effect in front of its record. */
import { isCompleted, isPayload, type OmniMessage } from "@coxswain/core";
import type { Observation } from "../observation.ts";
import { comparable } from "../texts.ts";
import type { Invariant } from "./invariant.ts";

interface CallRecord {
  asked: number;
  /** What the host answered. */
  answer: "allow" | "deny" | undefined;
  decisions: string[];
  isVetoed: boolean;
  /** The engine was told that the `allow` is kept. */
  isAllowKept: boolean;
}

export const decisions: Invariant = {
  name: "one decision",
  watch: () => new DecisionWatcher(),
};

class DecisionWatcher {
  readonly #calls = new Map<string, CallRecord>();
  /** An interrupt leaves calls without a decision. */
  #mayStayUndecided = false;
  /** User-side messages that the engine has been told about. */
  readonly #inputs = new Set<string>();
  #newest: OmniMessage | undefined;
  /** Whole calls of the newest attempt. */
  #attempt: string[] = [];
  /** Undecided when their attempt failed. */
  readonly #withdrawable = new Set<string>();
  #isCompacting = false;
  #isDiskHanging = false;
  #mayBeOld = false;
  /** The call that the host has been asked about, and has not answered. */
  #openQuestion: string | undefined;

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "process":
      case "run":
        this.#mayStayUndecided = false;
        this.#calls.clear();
        this.#openQuestion = undefined;
        this.#isCompacting = false;
        // What an interrupted run had handed over may still be on its way.
        this.#mayBeOld = this.#isDiskHanging;
        return undefined;
      case "disk":
        this.#isDiskHanging = seen.is === "hanging";
        return undefined;
      case "interrupted":
        this.#mayStayUndecided = true;
        return undefined;
      case "landed":
        this.#noteInput(seen.record);
        return undefined;
      case "settled":
        return this.#settled(seen.record, seen.isKept || !seen.blocksEffects);
      case "request":
        return this.#request(seen.input);
      case "asked":
        return this.#asked(seen.call.payload.tool_call_id);
      case "decided": {
        const call = this.#calls.get(seen.toolCallId);
        if (seen.answer === "never") return undefined;
        if (this.#openQuestion === seen.toolCallId) this.#openQuestion = undefined;
        if (call !== undefined) call.answer = seen.answer === "allow" ? "allow" : "deny";
        return undefined;
      }
      case "vetoed": {
        const call = this.#calls.get(seen.toolCallId);
        if (call !== undefined) call.isVetoed = true;
        return undefined;
      }
      case "tool":
        if (seen.isVetoed === true) return `${seen.call.payload.tool_call_id} runs, and the policy refuses it`;
        return this.#calls.get(seen.call.payload.tool_call_id)?.isAllowKept === true
          ? undefined
          : `${seen.call.payload.tool_call_id} runs, and no allow is in the Trace`;
      case "ended":
        return this.#ended();
      default:
        return undefined;
    }
  }

  #settled(record: OmniMessage, allowsEffects: boolean): string | undefined {
    const { payload } = record;
    this.#noteInput(record);
    if (payload.type !== "notice") this.#newest = record;
    if (isPayload(record, "request_begin")) {
      this.#attempt = [];
      // Questions go on until the wait for this attempt is over; what has no answer by then is withdrawn.
      this.#openQuestion = undefined;
    }
    if (payload.type === "compaction_begin" || payload.type === "compaction_end") {
      this.#isCompacting = payload.type === "compaction_begin";
    }
    // A call in place of a summary is never run.
    if (isPayload(record, "tool_call") && isCompleted(record.payload) && !this.#isCompacting) {
      const id = record.payload.tool_call_id;
      this.#attempt.push(id);
      this.#withdrawable.delete(id);
      this.#calls.set(id, { asked: 0, answer: undefined, decisions: [], isVetoed: false, isAllowKept: false });
    }
    if (isPayload(record, "request_end") && record.payload.status !== "completed") {
      for (const id of this.#attempt) {
        const call = this.#calls.get(id);
        if (call?.decisions.length === 0) this.#withdrawable.add(id);
      }
    }
    if (payload.type !== "approval_decision") return undefined;
    return this.#decided(payload.tool_call_id, payload.decision, allowsEffects);
  }

  #decided(id: string, decision: string, allowsEffects: boolean): string | undefined {
    const call = this.#calls.get(id);
    if (call === undefined && this.#mayBeOld) return undefined;
    if (call === undefined) return `a decision about ${id}, which no record of this run calls`;
    if (!allowsEffects && decision === "allow") return undefined;
    call.decisions.push(decision);
    if (decision === "allow") call.isAllowKept = true;
    if (call.decisions.length > 1) return `${id} is decided twice: ${call.decisions.join(", ")}`;
    if (decision !== "forbidden" && decision !== (call.answer ?? "deny")) {
      return `${id} is decided as ${decision}, and the host said ${call.answer ?? "nothing"}`;
    }
    if (decision === "forbidden" && call.asked > 0) return `${id} is forbidden, and the host was asked`;
    if (call.isVetoed !== (decision === "forbidden")) {
      return `${id} is decided as ${decision}, and the policy ${call.isVetoed ? "refuses" : "does not refuse"} it`;
    }
    return undefined;
  }

  #asked(id: string): string | undefined {
    const call = this.#calls.get(id);
    if (call === undefined) return `the host is asked about ${id}, which is not in the Trace`;
    call.asked += 1;
    if (call.asked > 1) return `the host is asked about ${id} twice`;
    const open = this.#openQuestion;
    this.#openQuestion = id;
    return open === undefined ? undefined : `the host is asked about ${id} while it is still asked about ${open}`;
  }

  #request(input: readonly OmniMessage[]): string | undefined {
    if (this.#newest === undefined || !isPayload(this.#newest, "request_begin")) {
      return `a request leaves, and the newest record is ${this.#newest?.payload.type ?? "none"}, not request_begin`;
    }
    const unknown = input.find((message) => isWritten(message) && !this.#inputs.has(comparable(message)));
    return unknown === undefined ? undefined : `a request carries what is not in the Trace: ${comparable(unknown)}`;
  }

  #noteInput(record: OmniMessage): void {
    if (isWritten(record)) this.#inputs.add(comparable(record));
  }

  #ended(): string | undefined {
    if (this.#mayStayUndecided) return undefined;
    for (const [id, call] of this.#calls) {
      if (call.decisions.length === 0 && !this.#withdrawable.has(id)) return `${id} was never decided`;
    }
    return undefined;
  }
}

/** User texts and images come from records; blocks of ours and placeholders are made up on the way. */
function isWritten({ payload }: OmniMessage): boolean {
  if (payload.type === "text") return payload.role === "user" && payload.sender !== "harness";
  return payload.type === "image_url";
}
