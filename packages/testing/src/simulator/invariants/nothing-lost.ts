/** What a person said and background work reported is known to the model, is owed to it, or was given back; and never twice. */
import { type OmniMessage, readSteering } from "@coxswain/core";
import type { Observation, RunEnd } from "../observation.ts";
import { marksIn } from "../texts.ts";
import type { Invariant } from "./invariant.ts";

export const nothingLost: Invariant = {
  name: "nothing lost",
  watch: () => new LossWatcher(),
};

class LossWatcher {
  /** Must be in history or in what is owed, until a compaction takes them. */
  readonly #owed = new Set<string>();
  /** Accepted in this run, and neither written nor given back yet. */
  readonly #steered = new Map<string, string | undefined>();
  /** Not written yet; and whether the host was told. */
  readonly #reported = new Map<string, boolean>();
  /** Of these, what came before the run or the end of the newest request: the next request must tell it. */
  readonly #due = new Set<string>();
  readonly #landed = new Set<string>();
  #undelivered: string[] = [];
  #mode = "summarize";
  #isCompacting = false;
  /** Told to the model in the newest request for a summary. */
  #absorbed = new Set<string>();
  /** Of the newest request of a turn. */
  #sent = new Set<string>();
  /** Of one that did not fit: what a person said in it stays owed. */
  #refused = new Set<string>();
  /** The context has begun with a compaction. */
  #hasSummary = false;

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "process":
        this.#mode = seen.compactionMode;
        return seen.resumed === undefined ? undefined : this.#resumed(seen.resumed.state);
      case "run":
        for (const mark of marksIn(seen.input)) this.#owed.add(mark);
        this.#undelivered = [];
        this.#refused = new Set();
        // Of a run whose last records are not in the Trace yet.
        this.#steered.clear();
        this.#dueNow();
        return undefined;
      case "steered":
        if (seen.isAccepted) this.#steered.set(seen.mark, seen.text);
        return undefined;
      case "reported":
        this.#reported.set(seen.mark, false);
        return undefined;
      case "told host":
        return this.#toldHost(seen.mark, seen.isIdle);
      case "request": {
        const marks = marksIn(seen.input);
        for (const mark of [...marksIn(seen.history), ...marks]) this.#due.delete(mark);
        if (seen.purpose === "summary") this.#absorbed = new Set([...marksIn(seen.history), ...marks]);
        else {
          this.#sent = new Set(marks);
          const [untold] = this.#due;
          if (untold !== undefined) return `${untold} was reported before, and the request does not tell it`;
        }
        return this.#hasSummary && seen.purpose === "turn" && ![...seen.history, ...seen.input].some(isSummary)
          ? "the model is not told the summary of the context before"
          : undefined;
      }
      case "settled":
        // The model's own end may come long after that of an interrupted run.
        if (seen.record.payload.type === "request_end") this.#dueNow();
        return undefined;
      case "answered":
        if (seen.outcome !== "threw" && seen.outcome.contextOverflow === true) this.#refused = this.#sent;
        return undefined;
      case "landed":
        return this.#recorded(seen.record);
      case "died":
        this.#died();
        return undefined;
      case "ended":
        return this.#ended(seen.end);
      default:
        return undefined;
    }
  }

  #recorded(record: OmniMessage): string | undefined {
    const { payload } = record;
    switch (payload.type) {
      case "text":
        for (const mark of marksIn([record])) {
          this.#landed.add(mark);
          const said = this.#steered.get(mark);
          this.#due.delete(mark);
          if (this.#steered.delete(mark) || this.#reported.delete(mark)) this.#owed.add(mark);
          if (said !== undefined && readSteering(payload.text) !== said) return `${mark} is not written as it was said`;
        }
        return undefined;
      case "compaction_begin":
        this.#isCompacting = true;
        return undefined;
      case "token_usage":
        if (!this.#isCompacting) this.#refused = new Set();
        return undefined;
      case "compaction_end":
        this.#isCompacting = false;
        if (payload.status === "completed") this.#compacted();
        return undefined;
      case "abort":
        this.#undelivered = (payload.undelivered ?? []).flatMap((text) => text.match(/«s\d+»/g) ?? []);
        return undefined;
      default:
        return undefined;
    }
  }

  /** What was not written is lost with the process. */
  #died(): void {
    for (const mark of this.#owed) if (!this.#landed.has(mark)) this.#owed.delete(mark);
    this.#steered.clear();
    this.#reported.clear();
    this.#due.clear();
  }

  #dueNow(): void {
    for (const mark of this.#reported.keys()) this.#due.add(mark);
  }

  #toldHost(mark: string, isIdle: boolean): string | undefined {
    if (!isIdle) return `the host is told of ${mark} while a run is under way that may still tell the model`;
    const wasTold = this.#reported.get(mark);
    if (wasTold === undefined) return `the host is told of ${mark}, which the model gets`;
    if (wasTold) return `the host is told of ${mark} twice`;
    this.#reported.set(mark, true);
    return undefined;
  }

  #compacted(): void {
    this.#hasSummary = this.#mode === "summarize";
    for (const mark of this.#owed) {
      const isDropped = this.#mode === "discard" ? !this.#refused.has(mark) : this.#absorbed.has(mark);
      if (isDropped) this.#owed.delete(mark);
    }
  }

  #resumed({ history, carryOver }: RunEnd["state"]): string | undefined {
    return this.#missing([...marksIn(history), ...marksIn(carryOver)], "what was resumed");
  }

  #ended({ state, records }: RunEnd): string | undefined {
    // What has not landed yet cannot be judged by what has.
    if (records === undefined) return undefined;
    const known = [...marksIn(state.history), ...marksIn(state.carryOver)];
    for (const mark of this.#steered.keys()) {
      if (!this.#undelivered.includes(mark)) return `${mark} was accepted, and is neither written nor given back`;
    }
    for (const [mark, isTold] of this.#reported) {
      if (!isTold) return `${mark} was reported, and neither is it written nor was the host told`;
    }
    const twice = this.#undelivered.find((mark) => known.includes(mark));
    if (twice !== undefined) return `${twice} is given back although the model gets it`;
    this.#steered.clear();
    return this.#missing(known, "history and what is owed");
  }

  #missing(known: readonly string[], where: string): string | undefined {
    const lost = [...this.#owed].find((mark) => !known.includes(mark));
    if (lost !== undefined) return `${lost} is not in ${where}`;
    const twice = known.find((mark, index) => known.indexOf(mark) !== index);
    return twice === undefined ? undefined : `${twice} is in ${where} twice`;
  }
}

function isSummary({ payload }: OmniMessage): boolean {
  return payload.type === "text" && payload.sender === "harness" && payload.text.startsWith("[context_summary]");
}
