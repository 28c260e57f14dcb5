/** Opens what is a regular file, and nothing else. */
import type { BigIntStats } from "node:fs";
import { type FileHandle, lstat, readlink, realpath } from "node:fs/promises";
import { NotRegularFileError, openRegularFile } from "../../shared/regular-file.ts";
import type { FileGuard } from "./file-guard.ts";
import { fileError, refuseSpecial } from "./file-error.ts";

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
    guard.checkOpened(path, { stats: opened.stats, realPath: await whereIs(opened.handle, realPath) });
    return opened;
  } catch (error) {
    await opened.handle.close();
    throw error;
  }
}

/** What the system says of the descriptor; where it does not, what the path leads to now. */
export async function whereIs(handle: FileHandle, path: string): Promise<string | undefined> {
  const told = await readlink(`/proc/self/fd/${handle.fd}`).catch(() => undefined);
  return told ?? realpath(path).catch(() => undefined);
}
