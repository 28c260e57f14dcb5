/** Replaces a file in one step: a reader sees the old bytes or the new ones. */
import { type BigIntStats, constants } from "node:fs";
import { access, type FileHandle, lstat, open, rename, unlink } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf } from "./error-words.ts";
import { draftName } from "./host-mark.ts";
import { removeOrphanedDrafts } from "./orphaned-drafts.ts";
import { NotRegularFileError } from "./regular-file.ts";

export interface ReplaceFileOptions {
  /** Permissions. Default: those of the file that is there, or what is usual for a new one. */
  mode?: number | undefined;
  /** A last look before the old bytes are gone; what it throws is thrown, and nothing has changed. */
  beforeReplacing?: (() => Promise<void>) | undefined;
}

/** Under the name of the draft is no longer what was written. */
export class DraftLostError extends Error {
  override readonly name = "DraftLostError";

  constructor(draft: string) {
    super(
      `its draft ${draft} was removed or replaced by another program, so nothing was changed; ` +
        "try again, and if it happens again, look for what changes files in that directory",
    );
  }
}

/** Nobody else may read it before it has the permissions of the file that it replaces. */
const draftMode = 0o600;

/**
 * Keeps the owner of a file that is there.
 *
 * @param realPath Without links; its directory exists.
 * @throws NotRegularFileError, DraftLostError, a system error, or what `beforeReplacing` throws
 */
export async function replaceFile(
  realPath: string,
  bytes: Uint8Array,
  { mode, beforeReplacing }: ReplaceFileOptions = {},
): Promise<void> {
  const old = await regularFileAt(realPath);
  if (old !== undefined) await access(realPath, constants.W_OK);
  // No part of the name that it will have: a long one leaves no room for more.
  const directory = dirname(realPath);
  const draft = join(directory, draftName());
  // Before the writing: a disk may be full of them.
  await removeOrphanedDrafts(directory);
  // Others may change names in this directory, so the name is good for moving it alone. Open until the end: else its
  // number could become that of another file.
  const handle = await open(draft, "wx", old === undefined ? (mode ?? 0o666) : draftMode);
  try {
    await handle.writeFile(bytes);
    if (old !== undefined) await takeAfter(old, handle, mode);
    await handle.sync();
    await beforeReplacing?.();
    if (!(await isAt(draft, handle))) throw new DraftLostError(basename(draft));
    // Whoever swaps it after this look gets what he put there under the name of the file, links not followed: he could
    // as well have put it there himself, since it takes the right to change names in this directory.
    await rename(draft, realPath);
  } catch (error) {
    if (await isAt(draft, handle)) await unlink(draft).catch(() => undefined);
    throw error;
  } finally {
    // What it could tell, the synchronization has told.
    await handle.close().catch(() => undefined);
  }
}

async function regularFileAt(path: string): Promise<BigIntStats | undefined> {
  const stats = await lstat(path, { bigint: true }).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw error;
  });
  if (stats?.isFile() === false) throw new NotRegularFileError(path, stats);
  return stats;
}

/** The name is that of the opened file. */
async function isAt(path: string, handle: FileHandle): Promise<boolean> {
  try {
    const [named, opened] = [await lstat(path, { bigint: true }), await handle.stat({ bigint: true })];
    return named.ino === opened.ino && named.dev === opened.dev;
  } catch {
    return false;
  }
}

/**
 * Only the superuser can give a file away; for everyone else it is his already, or stays his, with the group if it may.
 * Permissions come last: a new owner takes some of them away.
 */
async function takeAfter(old: BigIntStats, handle: FileHandle, mode: number | undefined): Promise<void> {
  const [uid, gid] = [Number(old.uid), Number(old.gid)];
  await handle
    .chown(uid, gid)
    .catch(() => handle.chown(-1, gid))
    .catch(() => undefined);
  await handle.chmod(mode ?? keptMode(old, await handle.stat({ bigint: true })));
}

/** A program that ran as its owner or group does not begin to run as another. */
export function keptMode(
  old: Pick<BigIntStats, "mode" | "uid" | "gid">,
  now: Pick<BigIntStats, "uid" | "gid">,
): number {
  const lost = (now.uid === old.uid ? 0 : 0o4000) | (now.gid === old.gid ? 0 : 0o2000);
  return Number(old.mode) & 0o7777 & ~lost;
}
