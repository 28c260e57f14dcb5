/** The live state is what a resume would begin with; reading any beginning of the records gives a state, and always the same. */
import { type EngineState, isPayload, type OmniMessage, replayTrace } from "@coxswain/core";
import type { Observation } from "../observation.ts";
import { wellFormed } from "../texts.ts";
import type { Invariant } from "./invariant.ts";

/** @param every So many records lie between the beginnings that are read. */
export function replay(every: number): Invariant {
  return {
    name: "replay",
    watch: () => new ReplayWatcher(every),
  };
}

class ReplayWatcher {
  readonly #every: number;
  #file: OmniMessage[] = [];
  #fileNumber = 0;
  #landed = 0;

  constructor(every: number) {
    this.#every = every;
  }

  see(seen: Observation): string | undefined {
    if (seen.at === "landed") return this.#recorded(seen.record, seen.file);
    if (seen.at === "ended" && seen.end.records !== undefined) {
      // A context that was opened, and in which nothing was said, may be taken up or be opened once more.
      const problem = unlike(seen.end.records, seen.end.state);
      return problem === undefined || unlike(this.#file, seen.end.state) === undefined ? undefined : problem;
    }
    return undefined;
  }

  #recorded(record: OmniMessage, fileNumber: number): string | undefined {
    if (fileNumber !== this.#fileNumber) this.#file = [];
    else if (record.type === "session_meta" && this.#file.length > 0) return "a file holds more than one context";
    this.#fileNumber = fileNumber;
    this.#file.push(record);
    this.#landed += 1;
    const json = JSON.stringify(record.payload);
    if (wellFormed(json) !== json) return `half a character is written, which many readers refuse: ${json}`;
    if (this.#landed % this.#every !== 0) return undefined;
    try {
      return difference(replayTrace(this.#file), replayTrace(this.#file));
    } catch (error) {
      return `reading the first ${this.#file.length} records throws ${String(error)}`;
    }
  }
}

function unlike(records: readonly OmniMessage[], live: EngineState): string | undefined {
  const read = replayTrace(records);
  // Counts of the files before are told to a process when it begins.
  const isCounted = records.some((record) => isPayload(record, "token_usage"));
  return difference(isCounted ? read : { ...read, sessionTokens: live.sessionTokens }, live);
}

function difference(read: EngineState, live: EngineState): string | undefined {
  for (const key of new Set([...Object.keys(read), ...Object.keys(live)]) as Set<keyof EngineState>) {
    const [ofRead, ofLive] = [wellFormed(JSON.stringify(read[key]) ?? ""), wellFormed(JSON.stringify(live[key]) ?? "")];
    if (ofRead !== ofLive) return `${key} is read as ${ofRead || "nothing"}, and is ${ofLive || "nothing"}`;
  }
  return undefined;
}
