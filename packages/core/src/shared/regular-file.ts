/** Opens regular files, and nothing else: a FIFO or device that stands in the place of one is not waited for. */
import * as fs from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

const { O_NOFOLLOW, O_NONBLOCK, O_RDONLY } = fs.constants;
const chunkBytes = 256 * 1024;

/** Something else is in the place of a regular file: a directory, FIFO, socket or device. */
export class NotRegularFileError extends Error {
  override readonly name = "NotRegularFileError";
  readonly stats: fs.BigIntStats;

  constructor(path: string, stats: fs.BigIntStats) {
    super(`${path} is no regular file`);
    this.stats = stats;
  }
}

export interface OpenRegularFileOptions {
  /** Of `open(2)`. Default: for reading. */
  flags?: number;
  /** Permissions of a file that the opening makes. */
  mode?: number;
  /** Whether the last part of the path may be a link; else it is the error `ELOOP`. Default `false`. */
  followLink?: boolean;
  /** A look at the opened file; what it throws is thrown, and the file closed. */
  check?: (stats: fs.BigIntStats) => void;
}

/** @throws NotRegularFileError, a system error, or what `check` throws */
export async function openRegularFile(
  path: string,
  options: OpenRegularFileOptions = {},
): Promise<{ handle: FileHandle; stats: fs.BigIntStats }> {
  const handle = await open(path, flagsOf(options), options.mode);
  try {
    const stats = await handle.stat({ bigint: true });
    check(path, stats, options);
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** As `openRegularFile`, for a descriptor. */
export function openRegularFileSync(
  path: string,
  options: OpenRegularFileOptions = {},
): { descriptor: number; stats: fs.BigIntStats } {
  const descriptor = fs.openSync(path, flagsOf(options), options.mode);
  try {
    const stats = fs.fstatSync(descriptor, { bigint: true });
    check(path, stats, options);
    return { descriptor, stats };
  } catch (error) {
    fs.closeSync(descriptor);
    throw error;
  }
}

/**
 * What a small regular file holds, opened as `openRegularFileSync` does it; never more than its size says.
 *
 * @param options.maxBytes A larger file is a `RangeError`. Default: no limit.
 */
export function readRegularFileSync(
  path: string,
  options: OpenRegularFileOptions & { maxBytes?: number } = {},
): Buffer {
  const { descriptor, stats } = openRegularFileSync(path, options);
  try {
    const { maxBytes = Number.POSITIVE_INFINITY } = options;
    if (stats.size > maxBytes) throw new RangeError(`${path} has ${stats.size} bytes, more than ${maxBytes}`);
    return readSyncUpTo(descriptor, Number(stats.size));
  } finally {
    fs.closeSync(descriptor);
  }
}

/** From the beginning, up to a limit in bytes. */
export function readSyncUpTo(descriptor: number, limit: number): Buffer {
  const bytes = Buffer.allocUnsafe(limit);
  let length = 0;
  for (let read = -1; read !== 0 && length < limit; length += read) {
    read = fs.readSync(descriptor, bytes, length, limit - length, length);
  }
  return bytes.subarray(0, length);
}

/** Everything up to a limit in bytes; one byte more says that there is more. */
export async function readUpTo(handle: FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length <= limit) {
    const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, limit + 1 - length));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, length);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(chunks);
}

function flagsOf(options: OpenRegularFileOptions): number {
  return (options.flags ?? O_RDONLY) | O_NONBLOCK | (options.followLink === true ? 0 : O_NOFOLLOW);
}

function check(path: string, stats: fs.BigIntStats, options: OpenRegularFileOptions): void {
  if (!stats.isFile()) throw new NotRegularFileError(path, stats);
  options.check?.(stats);
}
