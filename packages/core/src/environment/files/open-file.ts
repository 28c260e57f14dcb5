/** Opens what is a regular file, and nothing else. */
import { type BigIntStats, constants, type Stats } from "node:fs";
import { type FileHandle, lstat, open, readlink } from "node:fs/promises";
import { ToolError } from "../tool-error.ts";
import type { FileGuard } from "./file-guard.ts";

export interface OpenedFile {
  handle: FileHandle;
  stats: BigIntStats;
}

/**
 * For reading. Never waits for the other end of a FIFO or device.
 * @param path As the tool was given it, for messages.
 * @param realPath From `FileGuard.resolve`.
 * @throws ToolError
 */
export async function openFile(guard: FileGuard, path: string, realPath: string): Promise<OpenedFile> {
  const entry = await lstat(realPath).catch((error: unknown) => {
    throw fileError(path, error);
  });
  refuseSpecial(path, entry);
  const flags = constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW;
  const handle = await open(realPath, flags).catch((error: unknown) => {
    throw fileError(path, error);
  });
  try {
    const stats = await handle.stat({ bigint: true });
    refuseSpecial(path, stats);
    const now = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
    guard.checkOpened(path, { stats, realPath: now });
    return { handle, stats };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** Everything up to a limit; one byte more says that there is more. */
export async function readUpTo(handle: FileHandle, limit: number): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  while (length <= limit) {
    const chunk = Buffer.allocUnsafe(Math.min(256 * 1024, limit + 1 - length));
    const { bytesRead } = await handle.read(chunk, 0, chunk.length, length);
    if (bytesRead === 0) break;
    chunks.push(chunk.subarray(0, bytesRead));
    length += bytesRead;
  }
  return Buffer.concat(chunks);
}

/** @throws ToolError for a directory, FIFO, device or socket. */
export function refuseSpecial(path: string, entry: Stats | BigIntStats): void {
  if (entry.isFile()) return;
  if (entry.isDirectory()) throw new ToolError(`${path} is a directory: use list_files to see what is in it.`);
  throw new ToolError(`${path} is no regular file (${kindOf(entry)}): it can be neither read nor written here.`);
}

function kindOf(entry: Stats | BigIntStats): string {
  if (entry.isFIFO()) return "a FIFO";
  if (entry.isSocket()) return "a socket";
  if (entry.isCharacterDevice() || entry.isBlockDevice()) return "a device";
  return "a link that changed meanwhile";
}

/** The system's error in words. */
export function fileError(path: string, error: unknown): Error {
  const code: unknown = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "ENOENT") return new ToolError(`There is no file ${path}.`);
  if (code === "ENOTDIR") return new ToolError(`A part of ${path} is a file, not a directory.`);
  if (code === "EACCES" || code === "EPERM") return new ToolError(`The system does not permit access to ${path}.`);
  if (code === "ENAMETOOLONG") return new ToolError(`The path is too long for the system: ${path}`);
  return error instanceof Error ? error : new Error(String(error));
}
