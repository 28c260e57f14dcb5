/** Replaces a file in one step: a reader sees the old bytes or the new ones. */
import type { BigIntStats } from "node:fs";
import { lstat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { NotRegularFileError } from "../../shared/regular-file.ts";
import { DraftLostError, replaceFile } from "../../shared/replace-file.ts";
import { ToolError } from "../tool-error.ts";
import { fileError, refuseSpecial } from "./file-error.ts";
import { openDirectory } from "./open-directory.ts";

export interface FileChange {
  /** As the tool was given it, for messages. */
  path: string;
  /** From `FileGuard.resolveForWriting`. */
  realPath: string;
  bytes: Uint8Array;
  /** Of what is to be replaced, when it was read; `undefined` when there was nothing. */
  seen: BigIntStats | undefined;
  signal: AbortSignal;
}

/**
 * Keeps mode and owner of a file that is there; makes directories that are missing. What was changed or made by someone
 * else since it was read stays as it is.
 * @throws ToolError
 */
export async function writeAtomically(change: FileChange): Promise<void> {
  const { path, realPath, bytes, seen, signal } = change;
  try {
    const directory = await openDirectory(dirname(realPath));
    try {
      const target = join(directory.path, basename(realPath));
      await replaceFile(target, bytes, {
        beforeReplacing: async () => {
          const now = await lstat(target, { bigint: true }).catch(() => undefined);
          if (!isSame(seen, now)) throw new ToolError(`${path} was changed while this was done: read it again first.`);
          signal.throwIfAborted();
        },
      });
    } finally {
      await directory.close();
    }
  } catch (error) {
    if (error instanceof NotRegularFileError) refuseSpecial(path, error.stats);
    if (error instanceof DraftLostError) throw new ToolError(`${path} was not written: ${error.message}.`);
    throw fileError(path, error);
  }
}

function isSame(seen: BigIntStats | undefined, now: BigIntStats | undefined): boolean {
  if (seen === undefined || now === undefined) return seen === now;
  return (
    seen.ino === now.ino &&
    seen.dev === now.dev &&
    seen.size === now.size &&
    seen.mtimeNs === now.mtimeNs &&
    seen.ctimeNs === now.ctimeNs
  );
}
