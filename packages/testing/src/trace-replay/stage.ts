/**
 * Holds the records of a Trace and how far a replay has come. Whoever plays a part waits here until it is his turn, so
 * that everything arrives in the recorded order; each record that the engine writes is compared with the one at its place.
 */
import { isPayload, type OmniMessage, type TraceSink } from "@coxswain/core";
import { eventLoopTurn } from "../event-loop.ts";
import { comparable, differenceOf, type ReplayDifference } from "./difference.ts";
import { isOutage, type TraceRecord } from "./recorded-trace.ts";

/** What the disk said, in the words of the notice. */
const outageReason = /^the record of this Session could not be written \((.*)\); free space/s;

export class Stage {
  readonly records: readonly TraceRecord[];
  /** What was written, by model context. */
  readonly contexts: OmniMessage[][] = [[]];
  difference: ReplayDifference | undefined;
  /** Grows with all that happens. */
  activity = 0;
  /** Index of the record that is written next. */
  next = 0;
  /** Index of the first record that the part of the Trace that is played now does not hold. */
  limit = 0;
  /** The process that is played died at the limit: it writes no more, and that is no difference. */
  diesAtLimit = false;
  /** The process that is played may have died at the limit, before it did what is due when a Task is over. */
  mayDieAtLimit = false;
  hasDied = false;
  /** Called when a record has been written, before the engine goes on from it. */
  onWritten: (() => void) | undefined;
  /** Index up to which records are written or on their way. */
  #cued = 0;
  /** Indices whose turn has been taken. */
  readonly #handedOver = new Set<number>();
  #sinks = 0;
  /** What stands behind the record that was written last, and before the next. */
  #notices: TraceRecord["notices"] = [];
  /** By the index that they wait for. */
  readonly #waiting = new Map<number, (() => void)[]>();
  readonly #waitingApart = new Map<number, (() => void)[]>();

  constructor(records: readonly TraceRecord[]) {
    this.records = records;
  }

  /** Resolves when every record before this one is written, or handed over to be. */
  turn(index: number): Promise<void> {
    return this.#turn(index, Math.max(this.#cued, this.next), this.#waiting);
  }

  /** Resolves when every record before this one is written. */
  turnApart(index: number): Promise<void> {
    return this.#turn(index, this.next, this.#waitingApart);
  }

  async #turn(index: number, reached: number, waiting: Map<number, (() => void)[]>): Promise<void> {
    if (reached < index) {
      const others = waiting.get(index) ?? [];
      waiting.set(index, others);
      await new Promise<void>((wake) => others.push(wake));
    }
    this.#handedOver.add(index);
    this.activity += 1;
  }

  /** It comes in the same moment as the one before it. */
  bring(index: number): void {
    wakeAll(this.#waiting, index);
  }

  /** Whether one may arrive while the other is not written yet. */
  isNext(index: number, following: number): boolean {
    return following === index + 1 && !this.#isRefused(index);
  }

  /** The record comes right behind another of the same producer, without a turn of its own. */
  follow(index: number): void {
    this.#handedOver.add(index);
  }

  /** A process's view of the Trace that it writes. Once another one writes, it is dead. */
  sink(): TraceSink {
    this.#sinks += 1;
    const own = this.#sinks;
    return {
      write: async (message) => {
        if (own !== this.#sinks || !this.#accept(message)) return never;
        this.onWritten?.();
        await this.#cue();
        this.#refuse();
      },
      rotate: () => {
        this.contexts.push([]);
        return Promise.resolve();
      },
    };
  }

  /** A record that no engine writes, but whoever puts one together. */
  put(message: OmniMessage): boolean {
    return this.#accept(message);
  }

  fail(found: string): void {
    const record = this.#notices[0] ?? (this.next < this.limit ? this.records[this.next] : undefined);
    this.difference ??= {
      place: record?.place ?? this.#endPlace(),
      expected: record === undefined ? "no further record here" : JSON.stringify(comparable(record.message)),
      found,
    };
  }

  /** Whether the part of the Trace that is played now is written. */
  get isAtLimit(): boolean {
    return this.next >= this.limit && this.#notices.length === 0;
  }

  #dies({ payload }: OmniMessage): boolean {
    if (!this.isAtLimit) return false;
    const isDue =
      payload.type === "compaction_begin" || (payload.type === "notice" && payload.code === "compaction_off");
    this.hasDied = this.diesAtLimit || (this.mayDieAtLimit && isDue);
    return this.hasDied;
  }

  #accept(message: OmniMessage): boolean {
    if (this.difference !== undefined || this.#dies(message)) return false;
    this.activity += 1;
    const notice = this.#notices.shift();
    const record = this.next < this.limit ? this.records[this.next] : undefined;
    const expected = notice ?? record;
    if (expected === undefined) {
      this.fail(JSON.stringify(comparable(message)));
      return false;
    }
    this.difference = differenceOf(comparable(expected.message), comparable(message), expected.place);
    if (this.difference !== undefined) return false;
    // As a file would keep it: later changes of the object do not reach it.
    this.contexts.at(-1)?.push(structuredClone(message));
    if (notice !== undefined || record === undefined) return true;
    this.next += 1;
    this.#notices = [...record.notices];
    return true;
  }

  /** The disk did not take it then either; it had it, and wrote it before anything else. */
  #refuse(): void {
    const outage = this.#notices[0]?.message;
    if (outage === undefined || !isPayload(outage, "notice") || !isOutage(outage)) return;
    throw new Error(outageReason.exec(outage.payload.message)?.[1]);
  }

  /**
   * Whoever's turn it is now hands over what he has before the engine reacts to the record that was just written, and
   * so does whoever is ready to come after him: what arrived together once must not be torn apart.
   */
  async #cue(): Promise<void> {
    wakeAll(this.#waitingApart, this.next);
    for (this.#cued = Math.max(this.#cued, this.next); ; this.#cued += 1) {
      wakeAll(this.#waiting, this.#cued);
      await eventLoopTurn();
      if (!this.#handedOver.has(this.#cued) || this.#isRefused(this.#cued)) return;
      this.activity += 1;
    }
  }

  /** What stands behind its notice has not come together with it. */
  #isRefused(index: number): boolean {
    return this.records[index]?.notices.some(({ message }) => isOutage(message)) === true;
  }

  #endPlace(): string {
    return `after ${this.records[this.next - 1]?.place ?? "the beginning"}`;
  }
}

function wakeAll(waiting: Map<number, (() => void)[]>, index: number): void {
  const wakes = waiting.get(index) ?? [];
  waiting.delete(index);
  for (const wake of wakes) wake();
}

/** What a process that is gone would have waited for. */
export const never = new Promise<never>(() => undefined);
