/** Opens what is a regular file, and nothing else. */
import type { BigIntStats, Stats } from "node:fs";
import { type FileHandle, lstat, readlink } from "node:fs/promises";
import { errnoOf } from "../../shared/error-words.ts";
import { NotRegularFileError, openRegularFile } from "../../shared/regular-file.ts";
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
  const opened = await openRegularFile(realPath).catch((error: unknown) => {
    if (error instanceof NotRegularFileError) refuseSpecial(path, error.stats);
    throw fileError(path, error);
  });
  try {
    const now = await readlink(`/proc/self/fd/${opened.handle.fd}`).catch(() => undefined);
    guard.checkOpened(path, { stats: opened.stats, realPath: now });
    return opened;
  } catch (error) {
    await opened.handle.close();
    throw error;
  }
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
  const code = errnoOf(error);
  if (code === "ENOENT") return new ToolError(`There is no file ${path}.`);
  if (code === "ENOTDIR") return new ToolError(`A part of ${path} is a file, not a directory.`);
  if (code === "EACCES" || code === "EPERM") return new ToolError(`The system does not permit access to ${path}.`);
  if (code === "ENAMETOOLONG") return new ToolError(`The path is too long for the system: ${path}`);
  return error instanceof Error ? error : new Error(String(error));
}
