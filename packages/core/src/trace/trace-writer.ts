/**
 * Appends the records of one Session. A healthy, quick disk is written to at once; behind a slow or failing one records
 * queue up, in order.
 */
import { isSessionMeta, type OmniMessage } from "@coxswain/protocol";
import type { TraceSink } from "../engine/ports.ts";
import type { RecordEncoder } from "./codec.ts";
import type { DiskPace } from "./disk-pace.ts";
import { HeldRecords, type HeldRecord } from "./held-records.ts";
import type { TraceDisk } from "./trace-disk.ts";
import { errnoOf, wordsOf } from "../shared/error-words.ts";
import { TraceError, TraceWriteError } from "./trace-error.ts";
import { type OutputTarget, TraceOutput } from "./trace-output.ts";

/** `process`: a record survives the end of the process. `power`: what precedes an effect survives a loss of power. */
export type TraceDurability = "process" | "power";

export interface TraceWriterOptions {
  disk: TraceDisk;
  pace: DiskPace;
  encode: RecordEncoder;
  durability: TraceDurability;
  pathOf: (index: number) => string;
  first: OutputTarget;
  /** The `session_meta` of the file that is gone on with. */
  meta?: OmniMessage | undefined;
  release: () => Promise<void>;
  maxHeldBytes?: number;
}

const batchBytes = 256 * 1024;
const defaultMaxHeldBytes = 64 * 1024 * 1024;
/** After these the descriptor is still good, and a line half written can be finished. */
const recoverable = new Set(["ENOSPC", "EDQUOT", "EINTR", "EAGAIN"]);

/** How often it is looked whether the file is still there, besides where a Task or a request begins. */
const lookAgainMs = 1000;

const written = Promise.resolve();
const scratch = Buffer.allocUnsafeSlow(256 * 1024);

interface Entry {
  message: OmniMessage;
  /** Without its `\n`. */
  line: string;
}

export class TraceWriter implements TraceSink {
  readonly #disk: TraceDisk;
  readonly #pace: DiskPace;
  readonly #encode: RecordEncoder;
  readonly #power: boolean;
  readonly #output: TraceOutput;
  readonly #release: () => Promise<void>;
  readonly #held: HeldRecords;
  #target: OutputTarget;
  #meta: OmniMessage | undefined;
  #lastLookMs = Number.NEGATIVE_INFINITY;
  /** Decisions that were written although others that were handed over with them were not. */
  readonly #landed = new WeakSet<OmniMessage>();
  #rotates = false;
  #isDraining = false;
  #drained: Promise<void> | undefined;
  #closing: Promise<void> | undefined;

  constructor(options: TraceWriterOptions) {
    this.#disk = options.disk;
    this.#pace = options.pace;
    this.#encode = options.encode;
    this.#power = options.durability === "power";
    this.#output = new TraceOutput(options.disk, options.pathOf);
    this.#release = options.release;
    this.#held = new HeldRecords(options.maxHeldBytes ?? defaultMaxHeldBytes);
    this.#target = options.first;
    this.#meta = options.meta;
  }

  /**
   * Resolves when the record is with the operating system (or, where `power` asks for it, on the disk).
   *
   * @throws TraceWriteError once the record is held back, or could not even be held. A decision that a tool waits for is
   * never doubled when it is written again; any other object may be said as often as somebody says it.
   */
  write(message: OmniMessage): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(new TraceError("closed", "the trace is closed"));
    if (isRepeated(message)) {
      if (this.#landed.has(message)) return written;
      const held = this.#held.find(message);
      if (held !== undefined) return this.#waitFor(held);
    }
    return this.writeAll([message]) ?? written;
  }

  /** As `write`, for several records in one go; `undefined` when they are with the operating system. */
  writeAll(messages: readonly OmniMessage[]): Promise<void> | undefined {
    if (this.#closing !== undefined) return Promise.reject(new TraceError("closed", "the trace is closed"));
    let entries: Entry[];
    try {
      entries = messages.map((message) => ({ message, line: this.#encode(message) }));
    } catch (error) {
      return Promise.reject(new TypeError(`a record cannot be written as JSON: ${wordsOf(error)}`));
    }
    if (this.#rotates) this.#startNextFile();
    this.#meta = messages.findLast(isSessionMeta) ?? this.#meta;
    const mustSync = this.#power && messages.some(precedesEffect);
    const startMs = this.#disk.nowMs();
    // What is being written is held until it is, so that nothing overtakes it.
    if (mustSync || !this.#held.isEmpty || this.#pace.isSlow(startMs)) return this.#queueAll(entries, mustSync);
    return this.#writeNow(entries, startMs);
  }

  rotate(): Promise<void> {
    this.#rotates = true;
    return written;
  }

  #startNextFile(): void {
    this.#rotates = false;
    // A context without a record needs no file.
    if (this.#target.isNew && this.#held.isEmpty) return;
    this.#target = { index: this.#target.index + 1, isNew: true };
  }

  #writeNow(entries: readonly Entry[], startMs: number): Promise<void> | undefined {
    let done = 0;
    try {
      const descriptor = this.#output.open(this.#target);
      if (this.#output.lineStart.length > 0 || this.#output.isBare) return this.#queueAll(entries, false);
      this.#lookForFile(entries, startMs);
      const { bytes, length } = bytesOf(entries);
      while (done < length) done += taken(this.#disk.writeSync(descriptor, bytes, done, length - done));
      const endMs = this.#disk.nowMs();
      this.#pace.note(endMs - startMs, endMs);
      return undefined;
    } catch (error) {
      return Promise.reject(this.#holdUnwritten(entries, done, error));
    }
  }

  #lookForFile(entries: readonly Entry[], nowMs: number): void {
    if (nowMs - this.#lastLookMs < lookAgainMs && !entries.some(({ message }) => begins(message))) return;
    this.#lastLookMs = nowMs;
    this.#output.assertThere();
  }

  /** @param done Bytes of all their lines that the disk has taken. */
  #holdUnwritten(entries: readonly Entry[], done: number, error: unknown): TraceWriteError {
    let start = 0;
    let areKept = true;
    for (const { message, line } of entries) {
      const bytes = Buffer.from(`${line}\n`);
      const offset = Math.max(0, done - start);
      start += bytes.length;
      if (offset >= bytes.length) {
        this.#landed.add(message);
        continue;
      }
      areKept = this.#held.add({ message, target: this.#target, bytes, offset, mustSync: false }) && areKept;
    }
    this.#afterFailure(error);
    return areKept ? this.#heldBack(error) : this.#tooMuch();
  }

  async #queueAll(entries: readonly Entry[], mustSync: boolean): Promise<void> {
    const results = await Promise.allSettled(entries.map(({ message, line }) => this.#queue(message, line, mustSync)));
    const failure = results.find((result) => result.status === "rejected");
    if (failure === undefined) return;
    for (const [index, { status }] of results.entries()) {
      const message = entries[index]?.message;
      if (status === "fulfilled" && message !== undefined) this.#landed.add(message);
    }
    throw failure.reason;
  }

  #queue(message: OmniMessage, line: string, mustSync: boolean): Promise<void> {
    const bytes = Buffer.from(`${line}\n`);
    const record: HeldRecord = { message, target: this.#target, bytes, offset: 0, mustSync };
    if (this.#held.add(record)) return this.#waitFor(record);
    this.#startDraining();
    return Promise.reject(this.#tooMuch());
  }

  #waitFor(record: HeldRecord): Promise<void> {
    const promise = new Promise<void>((resolve, reject) => {
      (record.waiting ??= []).push({ resolve, reject });
    });
    this.#startDraining();
    return promise;
  }

  #startDraining(): void {
    if (this.#isDraining) return;
    this.#isDraining = true;
    this.#drained = this.#drain();
  }

  /** Writes what is held, until nothing is or the disk fails. Never rejects. */
  async #drain(): Promise<void> {
    while (!this.#held.isEmpty) {
      try {
        const descriptor = this.#openNext();
        await this.#writeBatch(descriptor, this.#held.nextBatch(batchBytes));
      } catch (error) {
        this.#afterFailure(error);
        this.#held.rejectWaiting(this.#heldBack(error));
        break;
      }
    }
    this.#isDraining = false;
  }

  /** A file that takes the place of one that was removed begins as that one did, so that it can be resumed from. */
  #openNext(): number {
    const { target, message } = this.#held.first;
    const descriptor = this.#output.open(target);
    const meta = this.#meta;
    if (this.#output.isBare && meta !== undefined && !isSessionMeta(message)) {
      const bytes = Buffer.from(`${this.#encode(meta)}\n`);
      this.#held.putFirst({ message: meta, target, bytes, offset: 0, mustSync: false });
    }
    return descriptor;
  }

  async #writeBatch(descriptor: number, batch: readonly HeldRecord[]): Promise<void> {
    const lineStart = this.#output.lineStart;
    const bytes = Buffer.concat([lineStart, ...batch.map((record) => record.bytes.subarray(record.offset))]);
    let done = 0;
    let safe = false;
    try {
      while (done < bytes.length) {
        done += taken(await this.#disk.write(descriptor, bytes, done, bytes.length - done));
      }
      if (batch.some((record) => record.mustSync)) await this.#output.sync();
      safe = true;
    } finally {
      if (done > 0) this.#output.lineStarted();
      this.#held.landed(Math.max(0, done - lineStart.length), safe);
    }
  }

  #afterFailure(error: unknown): void {
    if (recoverable.has(errnoOf(error) ?? "")) return;
    // The file is opened anew, which ends what is torn in it; the line is then written whole.
    this.#output.close();
    this.#held.restartTorn();
  }

  #heldBack(error: unknown): TraceWriteError {
    return this.#failure(`a record could not be written and is held back: ${wordsOf(error)}`, true, error);
  }

  #tooMuch(): TraceWriteError {
    return this.#failure("a record is lost: the disk takes none, and no more can be held back", false);
  }

  #failure(words: string, heldBack: boolean, cause?: unknown): TraceWriteError {
    return new TraceWriteError(words, { heldBack, blocksEffects: this.#power, cause });
  }

  /**
   * Writes what is held back, frees the file and the Session. Idempotent.
   *
   * @throws TraceWriteError when records are lost
   */
  close(): Promise<void> {
    this.#closing ??= this.#finish();
    return this.#closing;
  }

  async #finish(): Promise<void> {
    await this.#drained;
    await this.#drain();
    this.#output.close();
    await this.#release();
    const lost = this.#held.count;
    if (lost > 0) throw this.#failure(`${lost} records of the trace are lost: the disk did not take them`, false);
  }
}

/** Whoever waits to run a tool writes the same object until it is kept. */
function isRepeated({ payload }: OmniMessage): boolean {
  return payload.type === "approval_decision" && payload.decision === "allow";
}

function begins({ payload }: OmniMessage): boolean {
  return payload.type === "request_begin" || (payload.type === "text" && payload.role === "user");
}

/** `power` syncs before a tool may run, and when a turn ends. */
function precedesEffect(message: OmniMessage): boolean {
  return message.payload.type === "request_end" || isRepeated(message);
}

/** Good until the next call: nearly all lines go through the one buffer. Appending to a string would copy the line. */
function bytesOf(entries: readonly Entry[]): { bytes: Buffer; length: number } {
  let length = 0;
  for (const { line } of entries) {
    if (length + line.length * 3 + 1 > scratch.length) {
      const bytes = Buffer.from(entries.map((entry) => `${entry.line}\n`).join(""));
      return { bytes, length: bytes.length };
    }
    length += scratch.write(line, length);
    scratch[length] = 0x0a;
    length += 1;
  }
  return { bytes: scratch, length };
}

function taken(bytes: number): number {
  if (bytes > 0) return bytes;
  throw new Error("the disk took no bytes");
}
