/** What the writer asks of a disk: the seam at which tests put one that is full, slow or gone. */
import * as fs from "node:fs";
import { performance } from "node:perf_hooks";
import { isRemoved, type OpenedFile, openForAppend } from "./safe-files.ts";

export interface TraceDisk {
  /** @throws `EEXIST` when the file must be new and is not */
  openForAppend(path: string, mustBeNew: boolean): OpenedFile;
  /** Whether what is written goes to a file that has no name any more. */
  isRemoved(descriptor: number, path: string): boolean;
  /** Bytes taken, at least one; may be fewer than offered. */
  writeSync(descriptor: number, bytes: Uint8Array, offset: number, length: number): number;
  write(descriptor: number, bytes: Uint8Array, offset: number, length: number): Promise<number>;
  /** Resolves when what was written survives a loss of power. */
  sync(descriptor: number): Promise<void>;
  /** The same for the name of a new file. */
  syncDirectory(path: string): Promise<void>;
  close(descriptor: number): void;
  /** Monotonic milliseconds. */
  nowMs(): number;
}

export const nodeDisk: TraceDisk = {
  openForAppend,
  isRemoved,
  writeSync: (descriptor, bytes, offset, length) => fs.writeSync(descriptor, bytes, offset, length),
  write: (descriptor, bytes, offset, length) =>
    new Promise((resolve, reject) => {
      fs.write(descriptor, bytes, offset, length, null, (error, taken) => (error ? reject(error) : resolve(taken)));
    }),
  sync: (descriptor) =>
    new Promise((resolve, reject) => {
      fs.fdatasync(descriptor, (error) => (error ? reject(error) : resolve()));
    }),
  syncDirectory: async (path) => {
    const directory = await fs.promises.open(path, fs.constants.O_RDONLY);
    try {
      await directory.sync();
    } finally {
      await directory.close();
    }
  },
  close: (descriptor) => fs.closeSync(descriptor),
  nowMs: () => performance.now(),
};
