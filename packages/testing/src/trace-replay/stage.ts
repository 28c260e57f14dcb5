/**
 * Holds the records of a Trace and how far a replay has come. Whoever plays a part waits here until it is his turn, so
 * that everything arrives in the recorded order; each record that the engine writes is compared with the one at its place.
 */
import type { OmniMessage, TraceSink } from "@coxswain/core";
import { eventLoopTurn } from "./event-loop.ts";
import { comparable, differenceOf, type ReplayDifference } from "./difference.ts";
import type { TraceRecord } from "./recorded-trace.ts";

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
  /** Called when a record has been written, before the engine goes on from it. */
  onWritten: (() => void) | undefined;
  /** Index up to which records are written or on their way. */
  #cued = 0;
  /** Indices whose turn has been taken. */
  readonly #handedOver = new Set<number>();
  /** By the index that they wait for. */
  readonly #waiting = new Map<number, (() => void)[]>();

  constructor(records: readonly TraceRecord[]) {
    this.records = records;
  }

  /** Resolves when every record before this one is written, or handed over to be. */
  async turn(index: number): Promise<void> {
    if (Math.max(this.#cued, this.next) < index) {
      const others = this.#waiting.get(index) ?? [];
      this.#waiting.set(index, others);
      await new Promise<void>((wake) => others.push(wake));
    }
    this.#handedOver.add(index);
    this.activity += 1;
  }

  /** The record comes right behind another of the same producer, without a turn of its own. */
  follow(index: number): void {
    this.#handedOver.add(index);
  }

  /** The engine's view of the Trace that it writes. */
  sink(): TraceSink {
    return {
      write: async (message) => {
        if (!this.#accept(message)) return never;
        this.onWritten?.();
        await this.#cue();
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
    const record = this.next < this.limit ? this.records[this.next] : undefined;
    this.difference ??= {
      place: record?.place ?? this.#endPlace(),
      expected: record === undefined ? "no further record here" : JSON.stringify(comparable(record.message)),
      found,
    };
  }

  #accept(message: OmniMessage): boolean {
    if (this.difference !== undefined || (this.next >= this.limit && this.diesAtLimit)) return false;
    this.activity += 1;
    const record = this.next < this.limit ? this.records[this.next] : undefined;
    if (record === undefined) {
      this.fail(JSON.stringify(comparable(message)));
      return false;
    }
    this.difference = differenceOf(comparable(record.message), comparable(message), record.place);
    if (this.difference !== undefined) return false;
    // As a file would keep it: later changes of the object do not reach it.
    this.contexts.at(-1)?.push(structuredClone(message));
    this.next += 1;
    return true;
  }

  /**
   * Whoever's turn it is now hands over what he has before the engine reacts to the record that was just written, and
   * so does whoever is ready to come after him: what arrived together once must not be torn apart.
   */
  async #cue(): Promise<void> {
    for (this.#cued = Math.max(this.#cued, this.next); ; this.#cued += 1) {
      const waiting = this.#waiting.get(this.#cued) ?? [];
      this.#waiting.delete(this.#cued);
      for (const wake of waiting) wake();
      await eventLoopTurn();
      if (!this.#handedOver.has(this.#cued)) return;
    }
  }

  #endPlace(): string {
    return `after ${this.records[this.next - 1]?.place ?? "the beginning"}`;
  }
}

/** What a process that is gone would have waited for. */
export const never = new Promise<never>(() => undefined);
