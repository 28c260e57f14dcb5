/** Replaces a file in one step: a reader sees the old bytes or the new ones. */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, chmod, chown, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";

export interface ReplaceFileOptions {
  /** Permissions. Default: those of the file that is there, or what is usual for a new one. */
  mode?: number | undefined;
  /** A last look before the old bytes are gone; what it throws is thrown, and nothing has changed. */
  beforeReplacing?: (() => Promise<void>) | undefined;
}

/** Nobody else may read it before it has the permissions of the file that it replaces. */
const draftMode = 0o600;

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
  // No part of the name that it will have: a long one leaves no room for more.
  const temporary = join(dirname(realPath), `.${randomUUID()}.tmp`);
  try {
    const old = await stat(realPath).catch(() => undefined);
    if (old !== undefined) await access(realPath, constants.W_OK);
    const handle = await open(temporary, "wx", old === undefined ? (mode ?? 0o666) : draftMode);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (old !== undefined) {
      await giveTo(temporary, old);
      await chmod(temporary, mode ?? old.mode & 0o7777);
    }
    await beforeReplacing?.();
    await rename(temporary, realPath);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
}

/** Only the superuser can give a file away; for everyone else it is his already, or stays his, with the group if it may. */
async function giveTo(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await chown(path, uid, gid)
    .catch(() => chown(path, -1, gid))
    .catch(() => undefined);
}
