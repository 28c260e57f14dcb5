/** Records that wait for the disk, in order. */
import type { OmniMessage } from "@coxswain/protocol";
import type { OutputTarget } from "./trace-output.ts";

export interface HeldRecord {
  message: OmniMessage;
  target: OutputTarget;
  bytes: Uint8Array;
  /** Bytes of it that are written. */
  offset: number;
  mustSync: boolean;
  waiting?: { resolve: () => void; reject: (error: Error) => void }[];
}

export class HeldRecords {
  readonly #maxBytes: number;
  readonly #records: HeldRecord[] = [];
  #bytes = 0;
  /** One record was refused: taking a later one would leave a gap. */
  #overflowed = false;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#records.length === 0;
  }

  get count(): number {
    return this.#records.length;
  }

  /** @throws RangeError when nothing is held */
  get first(): HeldRecord {
    const [first] = this.#records;
    if (first === undefined) throw new RangeError("no record is held back");
    return first;
  }

  /** In front of all others, whatever room there is. */
  putFirst(record: HeldRecord): void {
    this.#records.unshift(record);
    this.#bytes += record.bytes.length;
  }

  find(message: OmniMessage): HeldRecord | undefined {
    return this.#records.find((record) => record.message === message);
  }

  /** False when there is no room. A record that alone is larger than all room is taken when nothing else is held. */
  add(record: HeldRecord): boolean {
    if (this.#overflowed || (this.#bytes > 0 && this.#bytes + record.bytes.length > this.#maxBytes)) {
      this.#overflowed = true;
      return false;
    }
    this.#records.push(record);
    this.#bytes += record.bytes.length;
    return true;
  }

  /** The first records that go into one file, up to a size, but at least one. */
  nextBatch(maxBytes: number): HeldRecord[] {
    const batch: HeldRecord[] = [];
    let bytes = 0;
    for (const record of this.#records) {
      bytes += record.bytes.length;
      if (batch.length > 0 && (bytes > maxBytes || record.target !== batch[0]?.target)) break;
      batch.push(record);
    }
    return batch;
  }

  /**
   * So many bytes of the first records are written; records that are done with are let go.
   *
   * @param safe Whether they are synced as well; if not, those that have to be wait on.
   */
  landed(bytes: number, safe: boolean): void {
    let rest = bytes;
    let done = 0;
    for (const [position, record] of this.#records.entries()) {
      const portion = Math.min(rest, record.bytes.length - record.offset);
      record.offset += portion;
      rest -= portion;
      if (record.offset < record.bytes.length) break;
      if (position === done && (safe || !record.mustSync)) done += 1;
      if (rest === 0) break;
    }
    for (const record of this.#records.splice(0, done)) this.#letGo(record);
    if (this.#records.length === 0) this.#overflowed = false;
  }

  #letGo(record: HeldRecord): void {
    this.#bytes -= record.bytes.length;
    for (const waiter of record.waiting ?? []) waiter.resolve();
  }

  /** A line half written will be written from its beginning. */
  restartTorn(): void {
    const torn = this.#records.find((record) => record.offset < record.bytes.length);
    if (torn !== undefined) torn.offset = 0;
  }

  rejectWaiting(error: Error): void {
    for (const record of this.#records) {
      for (const waiter of record.waiting ?? []) waiter.reject(error);
      delete record.waiting;
    }
  }
}
