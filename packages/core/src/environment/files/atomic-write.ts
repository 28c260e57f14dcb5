/** Replaces a file in one step: a reader sees the old bytes or the new ones. */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { access, chmod, chown, open, rename, rm, stat } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { fileError } from "./open-file.ts";

/**
 * Keeps mode and owner of a file that is there.
 * @param realPath Without links; its directory exists.
 * @throws ToolError
 */
export async function writeAtomically(path: string, realPath: string, bytes: Uint8Array): Promise<void> {
  const temporary = join(dirname(realPath), `.${basename(realPath).slice(0, 100)}.${randomUUID()}.tmp`);
  try {
    const old = await stat(realPath).catch(() => undefined);
    if (old !== undefined) await access(realPath, constants.W_OK);
    const handle = await open(temporary, "wx", 0o666);
    try {
      await handle.writeFile(bytes);
      await handle.sync();
    } finally {
      await handle.close();
    }
    if (old !== undefined) {
      // Only the superuser can give a file away; for everyone else it is his already, or stays his.
      await chown(temporary, old.uid, old.gid).catch(() => undefined);
      await chmod(temporary, old.mode & 0o7777);
    }
    await rename(temporary, realPath);
  } catch (error) {
    await rm(temporary, { force: true });
    throw fileError(path, error);
  }
}
