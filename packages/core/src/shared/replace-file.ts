/** Replaces a file in one step: a reader sees the old bytes or the new ones. */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, chmod, chown, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";

export interface ReplaceFileOptions {
  /** Permissions. Default: those of the file that is there, or what is usual for a new one. */
  mode?: number | undefined;
  /** A last look before the old bytes are gone; what it throws is thrown, and nothing has changed. */
  beforeReplacing?: (() => Promise<void>) | undefined;
}

/**
 * Keeps the owner of a file that is there.
 *
 * @param realPath Without links; its directory exists.
 * @throws A system error
 */
export async function replaceFile(
  realPath: string,
  bytes: Uint8Array,
  { mode, beforeReplacing }: ReplaceFileOptions = {},
): Promise<void> {
  const temporary = join(dirname(realPath), `.${basename(realPath).slice(0, 100)}.${randomUUID()}.tmp`);
  try {
    const old = await stat(realPath).catch(() => undefined);
    if (old !== undefined) await access(realPath, constants.W_OK);
    const handle = await open(temporary, "wx", mode ?? 0o666);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (old !== undefined) {
      // Only the superuser can give a file away; for everyone else it is his already, or stays his.
      await chown(temporary, old.uid, old.gid).catch(() => undefined);
      await chmod(temporary, mode ?? old.mode & 0o7777);
    }
    await beforeReplacing?.();
    await rename(temporary, realPath);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}
