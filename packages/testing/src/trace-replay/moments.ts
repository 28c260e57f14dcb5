/**
 * Moments in which so much came together that the records do not tell what came first: a policy refuses a call in the
 * very moment in which it is asked about, and yet something stands between the decision before it and the refusal.
 * A replay tries what it can have been, one after the other.
 */
import type { Exchanges, RecordedCall } from "./exchanges.ts";
import type { TraceRecord } from "./recorded-trace.ts";

/** `apart`: the call that is refused came after all before it was written. A number: so much later was the decision. */
type Guess = "apart" | number;

/** Microtasks lie between the two; there are only so many of them. */
const guesses: readonly Guess[] = ["apart", 0, 1, 2, 3, 4, 5, 6];

interface Moment {
  /** Index of the refused call. */
  call: number;
  /** Index of the decision before it. */
  from: number;
  /** Index of the refusal. */
  to: number;
  /** Each takes a replay of its own. */
  tried: number;
}

export class Moments {
  readonly #moments: Moment[] = [];

  add({ decisions, requests }: Exchanges, records: readonly TraceRecord[]): void {
    for (const [position, refused] of decisions.entries()) {
      if (refused.decision?.value !== "forbidden") continue;
      const { decision, output } = decisions[position - 1] ?? {};
      const from = decision?.index ?? refused.index;
      const own = decision?.value === "allow" || output === undefined ? from : output.index;
      const reason = Math.max(own, refused.index);
      const to = refused.decision.index;
      const isApart = to > reason + 1 || (records[reason]?.notices.length ?? 0) > 0;
      if (isApart) this.#moments.push({ call: refused.index, from: Math.min(from, refused.index), to, tried: 0 });
    }
    for (const { end } of requests.values()) if (end !== undefined) this.#addAfter(end.index, decisions);
  }

  /** What was decided once a request had failed had been asked before, all but what a policy refuses. */
  #addAfter(end: number, decisions: readonly RecordedCall[]): void {
    const late = decisions.filter((call) => call.index < end && (call.decision?.index ?? 0) > end);
    if (!late.some(({ decision }) => decision?.value === "forbidden")) return;
    const to = late.at(-1)?.decision?.index ?? end;
    this.#moments.push({ call: end, from: end, to, tried: guesses.length });
  }

  isApart(call: number): boolean {
    return this.#moments.some((moment) => moment.call === call && guesses[moment.tried] === "apart");
  }

  /** How much later than what follows it the decision came, in microtasks. */
  delayOf(decision: number): number | undefined {
    const moment = this.#moments.find(({ from }) => from === decision);
    const guess = moment === undefined ? undefined : guesses[moment.tried];
    return guess === "apart" ? undefined : guess;
  }

  /** Whether there is something else to try, as what was tried went wrong at this record. */
  retry(index: number): boolean {
    const moment = this.#at(index).find(({ tried }) => tried + 1 < guesses.length);
    if (moment === undefined) return false;
    moment.tried += 1;
    return true;
  }

  has(index: number): boolean {
    return this.#at(index).length > 0;
  }

  #at(index: number): Moment[] {
    return this.#moments.filter(({ from, to }) => index >= from && index <= to);
  }
}
