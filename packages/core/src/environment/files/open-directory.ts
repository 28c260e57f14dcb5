/**
 * A directory that stays the same while a file in it is replaced, whatever its path leads to meanwhile. Where the system
 * gives no names to descriptors, it is looked at and used by its path.
 */
import { constants } from "node:fs";
import { type FileHandle, lstat, mkdir, open } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { errnoOf } from "../../shared/error-words.ts";
import { ToolError } from "../tool-error.ts";
import { whereIs } from "./open-file.ts";

export interface OpenedDirectory {
  /** Leads to it. */
  path: string;
  close(): Promise<void>;
}

const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * Makes what is missing.
 *
 * @param realPath Without links.
 * @throws ToolError when it leads elsewhere by now, or a system error
 */
export async function openDirectory(realPath: string): Promise<OpenedDirectory> {
  const missing: string[] = [];
  let there = realPath;
  while (dirname(there) !== there && !(await exists(there))) {
    missing.unshift(basename(there));
    there = dirname(there);
  }
  let directory = await hold(there, there);
  for (const name of missing) {
    const outer = directory;
    try {
      const path = join(outer.path, name);
      await mkdir(path).catch((error: unknown) => {
        if (errnoOf(error) !== "EEXIST") throw error;
      });
      there = join(there, name);
      directory = await hold(path, there);
    } finally {
      await outer.close();
    }
  }
  return directory;
}

async function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    (error: unknown) => errnoOf(error) !== "ENOENT",
  );
}

/** @param realPath Where it must be. */
async function hold(path: string, realPath: string): Promise<OpenedDirectory> {
  const handle = await open(path, flags);
  try {
    if ((await whereIs(handle, path)) !== realPath) {
      throw new ToolError(`${realPath} leads elsewhere by now: try again.`);
    }
    const named = `/proc/self/fd/${handle.fd}`;
    return { path: (await exists(named)) ? named : path, close: () => closeQuietly(handle) };
  } catch (error) {
    await handle.close();
    throw error;
  }
}

async function closeQuietly(handle: FileHandle): Promise<void> {
  await handle.close().catch(() => undefined);
}
