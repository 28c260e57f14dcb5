/** The Trace of one Session on a disk that may be slow, refuse for a while, hang, or lose its writer in mid-line. */
import { isModelMessage, isPayload, type OmniMessage, type TokenCounts, type TraceSink } from "@coxswain/core";
import type { Gates } from "./gates.ts";
import type { Observer } from "./observation.ts";
import type { Random } from "./random.ts";
import { encodeRecord, TraceFile } from "./trace-file.ts";

/** How the disk behaves from some moment on. */
export interface DiskMood {
  /** A write waits for the schedule. */
  isSlow: boolean;
  takesBatches: boolean;
  /** Of the writes to come, this many pass before the next refuse. */
  writesBeforeRefusing: number;
  refusals: number;
  /** Of the writes to come, this many pass before the disk hangs. */
  writesBeforeHanging: number;
  /** The writer dies in this write. */
  writesBeforeDeath: number;
}

export const calmDisk: DiskMood = {
  isSlow: false,
  takesBatches: true,
  writesBeforeRefusing: Number.POSITIVE_INFINITY,
  refusals: 0,
  writesBeforeHanging: Number.POSITIVE_INFINITY,
  writesBeforeDeath: Number.POSITIVE_INFINITY,
};

interface Write {
  readonly records: readonly OmniMessage[];
  readonly file: number;
  resolve(): void;
  reject(error: Error): void;
}

interface HeldRecord {
  readonly record: OmniMessage;
  readonly file: number;
}

export interface TraceReading {
  messages: OmniMessage[];
  usageBefore: TokenCounts | undefined;
}

export class SimulatedDisk {
  readonly #log: Observer;
  readonly #random: Random;
  readonly #blocksEffects: boolean;
  readonly #files: TraceFile[] = [new TraceFile()];
  /** Written although others that were handed over with them were refused: such an object is not written again. */
  readonly #landed = new WeakSet<OmniMessage>();
  readonly #told = new WeakSet<OmniMessage>();
  #mood: DiskMood = calmDisk;
  #queue: Write[] = [];
  /** Refused, and written in front of whatever comes next. */
  #held: HeldRecord[] = [];
  #isHanging = false;
  #rotates = false;
  #gates: Gates | undefined;
  #onDeath: () => void = () => undefined;

  constructor(options: { log: Observer; random: Random; blocksEffects: boolean }) {
    this.#log = options.log;
    this.#random = options.random;
    this.#blocksEffects = options.blocksEffects;
  }

  /** Nothing waits to be written. */
  get isIdle(): boolean {
    return this.#queue.length === 0 && this.#held.length === 0;
  }

  get isHanging(): boolean {
    return this.#isHanging;
  }

  get endsTorn(): boolean {
    return this.#files.at(-1)?.endsTorn ?? false;
  }

  /** The newest context in which something was said: what `read` reads, without reading it. */
  get newest(): OmniMessage[] {
    return this.contexts.findLast((records) => records.some(isModelMessage)) ?? this.contexts[0] ?? [];
  }

  /** The context before the newest, of those in which something was said. */
  get before(): OmniMessage[] {
    return this.contexts.filter((records) => records.some(isModelMessage)).at(-2) ?? [];
  }

  get contexts(): OmniMessage[][] {
    return this.#files.map((file) => file.records);
  }

  set mood(mood: DiskMood) {
    this.#mood = { ...mood };
  }

  /** @param onDeath The process that writes has just died. */
  open(gates: Gates, onDeath: () => void): TraceSink {
    this.#gates = gates;
    this.#onDeath = onDeath;
    this.#rotates = false;
    const isMine = (): boolean => this.#gates === gates;
    const lost = new Promise<void>(() => undefined);
    return {
      write: (record) => (isMine() ? this.#submit([record]) : lost),
      ...(this.#mood.takesBatches
        ? { writeAll: (records: readonly OmniMessage[]) => (isMine() ? this.#submitTogether(records) : lost) }
        : {}),
      rotate: () => {
        if (isMine()) this.#rotates = true;
        return Promise.resolve();
      },
    };
  }

  /** By the composition, before an engine lives. */
  writeNow(record: OmniMessage): void {
    this.#land(record, this.#files.length - 1);
  }

  /** From now on nothing lands, until it recovers. */
  hang(): void {
    if (!this.#isHanging) this.#log.add({ at: "disk", is: "hanging" });
    this.#isHanging = true;
  }

  /** A disk that hung goes on: everything it had been given lands. */
  recover(): void {
    this.#mood = { ...this.#mood, isSlow: false, writesBeforeHanging: Number.POSITIVE_INFINITY, refusals: 0 };
    if (this.#isHanging) this.#log.add({ at: "disk", is: "working" });
    this.#isHanging = false;
    while (this.#queue.length > 0) this.#next();
    this.#flush();
  }

  /**
   * The process dies. Of what it had handed over, some may have landed, the last of it in part.
   *
   * @returns How many records that the engine knew to be held back are lost.
   */
  die(mayTear: boolean): number {
    this.#gates = undefined;
    const heldBack = this.#held.length;
    const waiting: HeldRecord[] = [
      ...this.#held,
      ...this.#queue.flatMap(({ records, file }) => records.map((record) => ({ record, file }))),
    ];
    this.#held = [];
    this.#queue = [];
    this.#isHanging = false;
    this.#landSome(waiting, mayTear);
    // A file begins with its first byte.
    while (this.#files.length > 1 && this.#files.at(-1)?.isEmpty === true) this.#files.pop();
    return heldBack;
  }

  /** The newest context in which something was said. */
  read(): TraceReading {
    let position = this.#files.length - 1;
    let messages = this.#readFile(position);
    while (position > 0 && !messages.some(isModelMessage)) {
      position -= 1;
      messages = this.#readFile(position);
    }
    const hasUsage = messages.some((message) => isPayload(message, "token_usage"));
    return { messages, usageBefore: hasUsage ? undefined : this.#usageBefore(position) };
  }

  #readFile(position: number): OmniMessage[] {
    return this.#files[position]?.read() ?? [];
  }

  #usageBefore(position: number): TokenCounts | undefined {
    for (const file of this.#files.slice(0, position).reverse()) {
      const usage = file.records.findLast((record) => isPayload(record, "token_usage"));
      if (usage?.payload.type === "token_usage") return usage.payload.session;
    }
    return undefined;
  }

  #submit(records: readonly OmniMessage[], onLanded = (): void => undefined): Promise<void> {
    if (this.#rotates) this.#startNextFile();
    if (records.every((record) => this.#landed.has(record))) {
      for (const record of records) this.#tell(record, true);
      return Promise.resolve();
    }
    return new Promise((resolve, reject) => {
      const landed = (): void => {
        onLanded();
        resolve();
      };
      this.#queue.push({ records, file: this.#files.length - 1, resolve: landed, reject });
      this.#mood.writesBeforeHanging -= 1;
      if (this.#mood.writesBeforeHanging < 0) this.hang();
      if (this.#isHanging) return;
      if (!this.#mood.isSlow) this.#next();
      else this.#gates?.add({ kind: "disk", label: `writes ${describe(records)}`, open: () => this.#next() });
    });
  }

  /** `undefined` when they have landed: a quick disk has nobody wait. */
  #submitTogether(records: readonly OmniMessage[]): Promise<void> | undefined {
    let haveLanded = false;
    const landing = this.#submit(records, () => {
      haveLanded = true;
    });
    return haveLanded ? undefined : landing;
  }

  #startNextFile(): void {
    this.#rotates = false;
    if (this.#files.at(-1)?.isEmpty === false || !this.isIdle) this.#files.push(new TraceFile());
  }

  #next(): void {
    const write = this.#queue[0];
    if (write === undefined || this.#isHanging) return;
    this.#mood.writesBeforeDeath -= 1;
    if (this.#mood.writesBeforeDeath < 0) return this.#onDeath();
    this.#queue.shift();
    if (this.#refuses()) return this.#refuse(write);
    // Writing the same object again tries again, and never doubles it.
    const isHeld = new Set(this.#held.map(({ record }) => record));
    this.#flush();
    for (const record of write.records) {
      if (!isHeld.has(record) && !this.#landed.has(record)) this.#land(record, write.file);
    }
    for (const record of write.records) this.#tell(record, true);
    write.resolve();
  }

  #refuses(): boolean {
    const mood = this.#mood;
    mood.writesBeforeRefusing -= 1;
    if (mood.writesBeforeRefusing >= 0 || mood.refusals <= 0) return false;
    mood.refusals -= 1;
    return true;
  }

  #refuse(write: Write): void {
    const isHeld = (record: OmniMessage): boolean => this.#held.some((held) => held.record === record);
    // A batch can land in part.
    const whole = this.#held.length === 0 ? this.#random.int(0, write.records.length - 1) : 0;
    if (this.#held.length === 0) this.#log.add({ at: "disk", is: "failing" });
    for (const [index, record] of write.records.entries()) {
      if (index < whole) {
        this.#land(record, write.file);
        this.#landed.add(record);
      } else if (!isHeld(record)) this.#held.push({ record, file: write.file });
      this.#tell(record, index < whole);
    }
    write.reject(Object.assign(new Error("no space left on the disk"), { blocksEffects: this.#blocksEffects }));
  }

  /** What may be done on the strength of a record is told once. */
  #tell(record: OmniMessage, isKept: boolean): void {
    const blocksEffects = !isKept && this.#blocksEffects;
    if (this.#told.has(record)) return;
    if (!blocksEffects) this.#told.add(record);
    this.#log.add({ at: "settled", record, isKept, blocksEffects });
  }

  #flush(): void {
    if (this.#held.length === 0) return;
    for (const { record, file } of this.#held.splice(0)) {
      this.#land(record, file);
      this.#landed.add(record);
    }
    this.#log.add({ at: "disk", is: "working" });
  }

  #land(record: OmniMessage, file: number): void {
    const decoded = this.#files[file]?.append(encodeRecord(record));
    if (decoded !== undefined) this.#log.add({ at: "landed", record: decoded, file });
  }

  #landSome(waiting: readonly HeldRecord[], mayTear: boolean): void {
    const count = this.#random.int(0, waiting.length);
    for (const { record, file } of waiting.slice(0, count)) this.#land(record, file);
    const cut = waiting[count];
    if (cut === undefined || !mayTear) return;
    const line = encodeRecord(cut.record);
    const whole = this.#files[cut.file]?.tear(line, this.#random.int(1, line.length - 1));
    if (whole !== undefined) this.#log.add({ at: "landed", record: whole, file: cut.file });
  }
}

function describe(records: readonly OmniMessage[]): string {
  const [first] = records;
  const more = records.length > 1 ? ` and ${records.length - 1} more` : "";
  return `${first?.payload.type ?? "session_meta"}${more}`;
}
