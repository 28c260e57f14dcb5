/** A file that is read to be written again. */
import type { BigIntStats } from "node:fs";
import { lstat } from "node:fs/promises";
import { readUpTo } from "../../shared/regular-file.ts";
import { errnoOf } from "../../shared/error-words.ts";
import { ToolError } from "../tool-error.ts";
import { fileError } from "./file-error.ts";
import type { FileGuard } from "./file-guard.ts";
import { openFile } from "./open-file.ts";
import { type DecodedText, decodeText } from "./text-encoding.ts";
import { maxWholeBytes, maxWholeWords } from "./whole-file.ts";

export interface OldFile {
  /** `undefined` of a file of more than `maxWholeBytes`. */
  bytes: Buffer | undefined;
  stats: BigIntStats;
}

export interface TextFile extends DecodedText, OldFile {
  bytes: Buffer;
}

/** @throws ToolError when it is no text file, or a very large one. */
export async function readTextFile(guard: FileGuard, path: string, realPath: string): Promise<TextFile> {
  const { bytes, stats } = await readOldFile(guard, path, realPath);
  if (bytes === undefined) throw new ToolError(`${path} is larger than ${maxWholeWords}: change it by a command.`);
  const decoded = decodeText(bytes);
  if (decoded === undefined) throw new ToolError(`${path} is a binary file: it cannot be changed as text.`);
  return { ...decoded, bytes, stats };
}

/** As `readOldFile`; `undefined` when there is none. */
export async function readIfThere(guard: FileGuard, path: string, realPath: string): Promise<OldFile | undefined> {
  try {
    await lstat(realPath);
  } catch (error) {
    if (errnoOf(error) === "ENOENT") return undefined;
    throw fileError(path, error);
  }
  return readOldFile(guard, path, realPath);
}

/** @throws ToolError also when nobody may write it: the superuser could, and nobody would expect it. */
async function readOldFile(guard: FileGuard, path: string, realPath: string): Promise<OldFile> {
  const { handle, stats } = await openFile(guard, path, realPath);
  try {
    if ((stats.mode & 0o222n) === 0n) {
      throw new ToolError(`${path} is read-only: make it writable by a command if it is to be changed.`);
    }
    const bytes = await readUpTo(handle, maxWholeBytes);
    return { bytes: bytes.length > maxWholeBytes ? undefined : bytes, stats };
  } finally {
    await handle.close();
  }
}
