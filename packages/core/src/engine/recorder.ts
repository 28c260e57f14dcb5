/**
 * The single writer. Everything passes here in order of arrival: into the Trace, then into the ledger, then to the
 * reader. Fragments and messages of children go to the reader alone, at once when no write is under way.
 */
import { type Builders, isPartial, type OmniMessage, OpenSegments } from "@coxswain/protocol";
import { engineDefaults } from "./defaults.ts";
import type { Ledger } from "./ledger.ts";
import type { Outbox } from "./outbox.ts";
import type { Clock, TraceSink } from "./ports.ts";

interface Entry {
  message: OmniMessage;
  isShown: boolean;
  settle: (() => void) | undefined;
}

interface RecordOptions {
  /** Default: whether the reader gets it. Inputs and the prompts of a compaction are only written. */
  isShown?: boolean;
}

export class Recorder {
  /** What the reader has seen begin and not end. */
  readonly segments = new OpenSegments();
  readonly #sink: TraceSink | undefined;
  readonly #ledger: Ledger;
  readonly #build: Builders;
  readonly #clock: Clock;
  #outbox: Outbox | undefined;
  #pending: Entry[] = [];
  #isWriting = false;
  #writing: Promise<void> = Promise.resolve();
  #isFailing = false;
  /** Set once an interrupt waits for the Trace no longer. */
  #isAbandoned = false;
  #abandonWrite: (() => void) | undefined;

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
  }

  /** A fragment or a message of a child Session. */
  show(message: OmniMessage): void {
    if (this.#isWriting) this.#pending.push({ message, isShown: true, settle: undefined });
    else this.#deliver(message);
  }

  /** Resolves once the record is in the Trace and on its way to the reader. Never rejects. */
  record(message: OmniMessage, options: RecordOptions = {}): Promise<void> {
    return new Promise((resolve) => {
      this.#pending.push({ message, isShown: options.isShown ?? true, settle: resolve });
      if (!this.#isWriting) this.#writing = this.#writeAll();
    });
  }

  /** Both kinds of message, as they come from a model or a tool. The promise, if there is one, must be awaited. */
  take(message: OmniMessage): Promise<void> | undefined {
    if (isPartial(message) || message.origin !== undefined) {
      this.show(message);
      return undefined;
    }
    return this.record(message);
  }

  /** Resolves once everything that has arrived is written and shown. */
  async idle(): Promise<void> {
    while (this.#isWriting) await this.#writing;
  }

  /** The next record opens a new context. */
  async rotate(): Promise<void> {
    try {
      await this.#sink?.rotate();
    } catch (error) {
      this.#tellOutage(error);
    }
  }

  async #writeAll(): Promise<void> {
    this.#isWriting = true;
    for (let entry = this.#pending.shift(); entry !== undefined; entry = this.#pending.shift()) {
      const { message, isShown, settle } = entry;
      if (settle !== undefined) {
        await this.#write(message);
        this.#ledger.apply(message);
      }
      if (isShown) this.#deliver(message);
      settle?.();
    }
    this.#isWriting = false;
  }

  #deliver(message: OmniMessage): void {
    this.segments.track(message);
    this.#outbox?.push(message);
  }

  async #write(message: OmniMessage): Promise<void> {
    if (this.#sink === undefined) return;
    for (;;) {
      try {
        await this.#orAbandoned(this.#sink.write(message));
        this.#isFailing = false;
        return;
      } catch (error) {
        this.#tellOutage(error);
        if (!allowsTool(message) || !blocksEffects(error)) return;
        await this.#orAbandoned(this.#clock.sleep(engineDefaults.traceRetryMs));
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
  #tellOutage(error: unknown): void {
    if (this.#isFailing) return;
    this.#isFailing = true;
    const reason = error instanceof Error ? error.message : String(error);
    const notice = this.#build.notice(
      "error",
      "trace_write_failed",
      `the record of this Session could not be written (${reason}); free space or restore access to its directory`,
    );
    // Shown at once, since the message that met the failure may have to wait; kept by the sink like any other record.
    this.#deliver(notice);
    this.#pending.unshift({ message: notice, isShown: false, settle: () => undefined });
  }
}

function allowsTool(message: OmniMessage): boolean {
  return message.payload.type === "approval_decision" && message.payload.decision === "allow";
}

function blocksEffects(error: unknown): boolean {
  return typeof error === "object" && error !== null && "blocksEffects" in error && error.blocksEffects === true;
}
