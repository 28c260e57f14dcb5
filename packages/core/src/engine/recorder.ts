/**
 * The single writer. Everything passes here in order of arrival: into the Trace, then into the ledger, then to the
 * reader. Fragments and messages of children go to the reader alone, at once when no write is under way.
 */
import { type Builders, isPartial, type OmniMessage, OpenSegments } from "@coxswain/protocol";
import { engineDefaults } from "./defaults.ts";
import { wordsOf } from "./error.ts";
import { whenSettled } from "./event-loop.ts";
import type { Ledger } from "./ledger.ts";
import type { Outbox } from "./outbox.ts";
import type { Clock, TraceSink } from "./ports.ts";

interface Entry {
  message: OmniMessage;
  isShown: boolean;
  /** What is not, is only shown. */
  isRecord: boolean;
  onRecorded: (() => void) | undefined;
}

interface RecordOptions {
  /** Default: whether the reader gets it. Inputs and the prompts of a compaction are only written. */
  isShown?: boolean;
  /** Called, in the order of the records, once it is in the Trace and on its way to the reader. */
  onRecorded?: () => void;
}

/** With more than this waiting, nobody should hand over another. */
const maxWaiting = 64;

export class Recorder {
  /** What has begun and not ended, of all that was handed over. */
  readonly segments = new OpenSegments();
  readonly #sink: TraceSink | undefined;
  readonly #ledger: Ledger;
  readonly #build: Builders;
  readonly #clock: Clock;
  #outbox: Outbox | undefined;
  #pending: Entry[] = [];
  /** From the first record that waits until nothing does. */
  #isWriting = false;
  #wakeOnIdle: (() => void)[] = [];
  readonly #writeSoon = (): void => void this.#writePending();
  #isFailing = false;
  /** Set once an interrupt waits for the Trace no longer. */
  #isAbandoned = false;
  #abandonWrite: (() => void) | undefined;
  #abandonRotation: (() => void) | undefined;

  constructor(parts: { sink: TraceSink | undefined; ledger: Ledger; build: Builders; clock: Clock }) {
    this.#sink = parts.sink;
    this.#ledger = parts.ledger;
    this.#build = parts.build;
    this.#clock = parts.clock;
  }

  attach(outbox: Outbox): void {
    this.#outbox = outbox;
    this.#isAbandoned = false;
  }

  /** From now on nothing waits for the Trace: each write is handed over and left alone. */
  abandonTrace(): void {
    this.#isAbandoned = true;
    this.#abandonWrite?.();
    this.#abandonRotation?.();
  }

  /** A fragment or a message of a child Session. */
  show(message: OmniMessage): void {
    this.segments.track(message);
    if (!this.#isWriting) this.#outbox?.push(message);
    else this.#pending.push({ message, isShown: true, isRecord: false, onRecorded: undefined });
  }

  /** Resolves once the record is in the Trace and on its way to the reader. Never rejects. */
  record(message: OmniMessage, options: { isShown?: boolean } = {}): Promise<void> {
    return new Promise((onRecorded) => this.add(message, { ...options, onRecorded }));
  }

  /** `record`, for those who do not wait. */
  add(message: OmniMessage, { isShown = true, onRecorded }: RecordOptions = {}): void {
    if (isShown) this.segments.track(message);
    this.#pending.push({ message, isShown, isRecord: true, onRecorded });
    if (this.#isWriting) return;
    this.#isWriting = true;
    whenSettled(this.#writeSoon);
  }

  /** Both kinds of message, as they come from a model or a tool. */
  take(message: OmniMessage): Promise<void> | undefined {
    if (isPartial(message) || message.origin !== undefined) {
      this.show(message);
      return undefined;
    }
    return this.record(message);
  }

  /** Resolves once they are written and shown. */
  async takeAll(messages: readonly OmniMessage[]): Promise<void> {
    for (const message of messages) void this.take(message);
    await this.idle();
  }

  /** The Trace is slower than whoever hands over records: wait for `idle`. */
  get isBehind(): boolean {
    return this.#pending.length > maxWaiting;
  }

  /** Resolves once everything that has arrived is written and shown. */
  async idle(): Promise<void> {
    while (this.#isWriting) await new Promise<void>((resolve) => this.#wakeOnIdle.push(resolve));
  }

  /** The next record opens a new context. */
  async rotate(): Promise<void> {
    if (this.#sink === undefined) return;
    try {
      const rotated = this.#sink.rotate();
      // Besides writes, which have a way out of their own.
      await new Promise<void>((resolve, reject) => {
        if (this.#isAbandoned) resolve();
        else this.#abandonRotation = resolve;
        rotated.then(resolve, reject);
      });
    } catch (error) {
      this.#tellOutage(error);
    }
  }

  async #writePending(): Promise<void> {
    while (this.#pending.length > 0) {
      const batch = this.#pending;
      this.#pending = [];
      const written = this.#writeBatch(batch);
      if (written !== undefined) await written;
      for (const { message, isShown, isRecord, onRecorded } of batch) {
        if (isRecord) this.#ledger.apply(message);
        if (isShown) this.#outbox?.push(message);
        onRecorded?.();
      }
    }
    this.#isWriting = false;
    for (const wake of this.#wakeOnIdle.splice(0)) wake();
  }

  /** Together where the sink can. `undefined` when there is nothing to wait for: most disks are quicker than a promise. */
  #writeBatch(batch: readonly Entry[]): Promise<void> | undefined {
    const records: OmniMessage[] = [];
    for (const { message, isRecord } of batch) if (isRecord) records.push(message);
    if (this.#sink === undefined || records.length === 0) return undefined;
    if (this.#sink.writeAll === undefined || this.#isFailing) return this.#writeEach(records);
    try {
      const written = this.#sink.writeAll(records);
      return written && this.#writtenTogether(records, written);
    } catch (error) {
      return this.#writtenTogether(records, Promise.reject(error));
    }
  }

  async #writtenTogether(records: readonly OmniMessage[], written: Promise<void>): Promise<void> {
    try {
      await this.#orAbandoned(written);
    } catch (error) {
      this.#tellOutage(
        error,
        records.some((record) => isLastWord(record) || mustBeKept(record, error)),
      );
      await this.#writeEach(records.filter((record) => mustBeKept(record, error)));
    }
  }

  async #writeEach(records: readonly OmniMessage[]): Promise<void> {
    for (const message of records) await this.#write(message);
  }

  async #write(message: OmniMessage): Promise<void> {
    if (this.#sink === undefined) return;
    for (;;) {
      try {
        await this.#orAbandoned(this.#sink.write(message));
        this.#isFailing = false;
        return;
      } catch (error) {
        const mustWait = mustBeKept(message, error);
        this.#tellOutage(error, mustWait || isLastWord(message));
        if (!mustWait) return;
        const wait = new AbortController();
        await this.#orAbandoned(this.#clock.sleep(engineDefaults.traceRetryMs, wait.signal));
        wait.abort("the wait is over, or nobody waits any more");
        if (this.#isAbandoned) return;
      }
    }
  }

  #orAbandoned(written: Promise<void>): Promise<void> {
    return new Promise((resolve, reject) => {
      if (this.#isAbandoned) resolve();
      else this.#abandonWrite = resolve;
      written.then(resolve, reject);
    });
  }

  /** One notice for each time that the Trace stops working. */
  #tellOutage(error: unknown, isUrgent = false): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    const notice = this.#build.notice(
      "error",
      "trace_write_failed",
      `the record of this Session could not be written (${wordsOf(error)}); free space or restore access to its directory`,
    );
    // Kept by the sink like any other record; shown behind the message that met the failure, unless that one must wait
    // or nothing may follow it.
    if (isUrgent) this.#outbox?.push(notice);
    this.#pending.unshift({ message: notice, isShown: !isUrgent, isRecord: true, onRecorded: undefined });
  }
}

function allowsTool(message: OmniMessage): boolean {
  return message.payload.type === "approval_decision" && message.payload.decision === "allow";
}

/** Nothing is shown behind it. */
function isLastWord(message: OmniMessage): boolean {
  return message.payload.type === "abort";
}

/** Nothing may be done before it is. */
function mustBeKept(message: OmniMessage, error: unknown): boolean {
  return allowsTool(message) && blocksEffects(error);
}

function blocksEffects(error: unknown): boolean {
  return typeof error === "object" && error !== null && "blocksEffects" in error && error.blocksEffects === true;
}
