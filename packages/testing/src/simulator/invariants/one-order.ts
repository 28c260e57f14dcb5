/** The Trace is the output stream without fragments and children, with inputs and prompts of compactions in between. */
import { isPartial, isPayload, type OmniMessage } from "@coxswain/core";
import type { Observation } from "../observation.ts";
import { comparable, marksIn } from "../texts.ts";
import type { Invariant } from "./invariant.ts";

export const oneOrder: Invariant = {
  name: "one order",
  watch: () => new OrderWatcher(),
};

class OrderWatcher {
  /** Records that the engine was told about and the reader has not seen. */
  #unseen: { text: string; isBlocked: boolean }[] = [];
  /** Shown although the Trace had not answered, as an interrupt may: their records must come in this order. */
  #early: string[] = [];
  readonly #steered = new Set<string>();
  /** Sessions of children that the reader has been told about. */
  readonly #children = new Set<string>();
  #isInterrupted = false;
  #isDiskHanging = false;

  see(seen: Observation): string | undefined {
    switch (seen.at) {
      case "process":
        this.#unseen = [];
        this.#early = [];
        this.#steered.clear();
        return undefined;
      case "run":
        this.#unseen = [];
        this.#isInterrupted = false;
        return undefined;
      case "interrupted":
        this.#isInterrupted = true;
        return undefined;
      case "disk":
        this.#isDiskHanging = seen.is === "hanging";
        return undefined;
      case "steered":
        this.#steered.add(seen.mark);
        return undefined;
      case "settled":
        this.#settled(seen.record, seen.blocksEffects && isAllow(seen.record));
        return undefined;
      case "showed":
        return this.#child(seen.message) ?? (isTold(seen.message) ? this.#showed(seen.message) : undefined);
      case "ended":
        return this.#unseen.length > 0 && seen.end.isReadToEnd ? `never shown: ${this.#unseen[0]?.text}` : undefined;
      default:
        return undefined;
    }
  }

  #child({ origin, payload }: OmniMessage): string | undefined {
    const [child] = origin ?? [];
    if (child !== undefined) return this.#children.has(child) ? undefined : `${child} speaks before it is announced`;
    if (payload.type !== "subagent") return undefined;
    if (this.#children.has(payload.session_id)) return `${payload.session_id} is announced twice`;
    this.#children.add(payload.session_id);
    return undefined;
  }

  /** @param isBlocked It is written again until it is kept, and keeps its place. */
  #settled(record: OmniMessage, isBlocked: boolean): void {
    if (!isTold(record)) return;
    const earlier = this.#unseen.find(({ text }) => text === comparable(record));
    if (earlier?.isBlocked === true) {
      earlier.isBlocked = isBlocked;
      return;
    }
    if (this.#early[0] === comparable(record)) this.#early.shift();
    else if (!this.#isInput(record)) this.#await(record, isBlocked);
  }

  #await(record: OmniMessage, isBlocked: boolean): void {
    // A steering is shown when it is first written; what is owed of it is written again in a new context.
    for (const mark of marksIn([record])) this.#steered.delete(mark);
    // Between those that were early come records of runs whose reader had left.
    if (this.#early.length === 0) this.#unseen.push({ text: comparable(record), isBlocked });
  }

  #showed(message: OmniMessage): string | undefined {
    const shown = comparable(message);
    for (const mark of marksIn([message])) this.#steered.delete(mark);
    const written = this.#unseen.shift();
    if (written?.text === shown && (!written.isBlocked || this.#isInterrupted)) return undefined;
    if (written !== undefined) return `shown: ${shown}; the record that was to be shown next: ${written.text}`;
    if (!this.#isInterrupted || !this.#isDiskHanging) return `shown before its record was written: ${shown}`;
    this.#early.push(shown);
    return undefined;
  }

  /** Written, and not shown. */
  #isInput(record: OmniMessage): boolean {
    const { payload } = record;
    if (payload.type === "image_url") return true;
    if (payload.type !== "text" || payload.role !== "user") return false;
    return !marksIn([record]).some((mark) => this.#steered.has(mark));
  }
}

/** The notice of a failing disk has no place in common: the disk could not take it when it was shown. */
function isTold(message: OmniMessage): boolean {
  if (isPartial(message) || message.origin !== undefined) return false;
  return !isPayload(message, "notice") || message.payload.code !== "trace_write_failed";
}

function isAllow({ payload }: OmniMessage): boolean {
  return payload.type === "approval_decision" && payload.decision === "allow";
}
