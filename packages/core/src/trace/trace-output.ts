/** The file that a writer appends to: opened when first needed, opened again after a failure. */
import { dirname } from "node:path";
import type { OpenedFile } from "./safe-files.ts";
import type { TraceDisk } from "./trace-disk.ts";
import { errnoOf } from "../shared/error-words.ts";

/** One context's file, as it is planned; `index` is settled when the file is opened. */
export interface OutputTarget {
  index: number;
  /** Nothing of ours is in it yet: an existing file with its name belongs to someone else. */
  isNew: boolean;
}

const newline = Buffer.from("\n");
const nothing = new Uint8Array();

export class TraceOutput {
  readonly #disk: TraceDisk;
  readonly #pathOf: (index: number) => string;
  #target: OutputTarget | undefined;
  #descriptor: number | undefined;
  #endsTorn = false;
  #isBare = false;
  #unsyncedDirectory: string | undefined;

  constructor(disk: TraceDisk, pathOf: (index: number) => string) {
    this.#disk = disk;
    this.#pathOf = pathOf;
  }

  /** The descriptor of this target's file; targets are asked for in order. */
  open(target: OutputTarget): number {
    if (this.#descriptor !== undefined && target === this.#target) return this.#descriptor;
    const previous = this.#target;
    this.close();
    if (target.isNew && previous !== undefined) target.index = Math.max(target.index, previous.index + 1);
    const { descriptor, endsTorn, isEmpty } = this.#openFile(target);
    this.#isBare = isEmpty && !target.isNew;
    if (target.isNew) this.#unsyncedDirectory = dirname(this.#pathOf(target.index));
    target.isNew = false;
    this.#target = target;
    this.#descriptor = descriptor;
    this.#endsTorn = endsTorn;
    return descriptor;
  }

  #openFile(target: OutputTarget): OpenedFile {
    for (;;) {
      try {
        return this.#disk.openForAppend(this.#pathOf(target.index), target.isNew);
      } catch (error) {
        if (!target.isNew || errnoOf(error) !== "EEXIST") throw error;
        target.index += 1;
      }
    }
  }

  /** What must stand before the next line of an opened file: a torn line must not swallow it. */
  get lineStart(): Uint8Array {
    return this.#endsTorn ? newline : nothing;
  }

  lineStarted(): void {
    this.#endsTorn = false;
    this.#isBare = false;
  }

  /** The opened file took the place of one that is gone, and has nothing in it yet. */
  get isBare(): boolean {
    return this.#isBare;
  }

  /** @throws Error when the file that is open has been removed */
  assertThere(): void {
    if (this.#descriptor === undefined || this.#target === undefined) return;
    const path = this.#pathOf(this.#target.index);
    if (this.#disk.isRemoved(this.#descriptor, path)) throw new Error(`${path} has been removed`);
  }

  async sync(): Promise<void> {
    if (this.#descriptor === undefined) return;
    await this.#disk.sync(this.#descriptor);
    const directory = this.#unsyncedDirectory;
    if (directory === undefined) return;
    await this.#disk.syncDirectory(directory);
    this.#unsyncedDirectory = undefined;
  }

  /** Closes the file; `open` opens it again, looking anew at how it ends. */
  close(): void {
    const descriptor = this.#descriptor;
    this.#descriptor = undefined;
    this.#endsTorn = false;
    this.#isBare = false;
    if (descriptor === undefined) return;
    try {
      this.#disk.close(descriptor);
    } catch {
      // The descriptor is gone either way; what failed to be written has been told by the write.
    }
  }
}
