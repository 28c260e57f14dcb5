/** Reads a file of ours that a person edits. */
import { isUtf8 } from "node:buffer";
import type { BigIntStats } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { errnoOf, wordsOf } from "../shared/error-words.ts";
import { NotRegularFileError, openRegularFile } from "../shared/regular-file.ts";
import { ConfigError } from "./config-error.ts";

export const maxFileBytes = 256 * 1024;

export interface ConfigFile {
  text: string;
  /** Permission bits. */
  mode: number;
  /** The text comes without it. */
  hasByteOrderMark?: boolean;
}

/**
 * `undefined` when there is no such file.
 *
 * @throws ConfigError
 */
export async function readConfigFile(path: string): Promise<ConfigFile | undefined> {
  let file: FileHandle | undefined;
  try {
    // The file may be kept elsewhere, with a link here.
    const opened = await openRegularFile(path, { followLink: true });
    file = opened.handle;
    return await readOpened(path, opened);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    if (errnoOf(error) === "ENOENT") return undefined;
    const words = error instanceof NotRegularFileError ? "must be a regular file" : `cannot be read: ${wordsOf(error)}`;
    throw new ConfigError("unreadable", words, { file: path, cause: error });
  } finally {
    await file?.close();
  }
}

async function readOpened(path: string, opened: { handle: FileHandle; stats: BigIntStats }): Promise<ConfigFile> {
  const { handle, stats } = opened;
  if (stats.size > maxFileBytes) {
    throw new ConfigError("unreadable", `has ${stats.size} bytes; at most ${maxFileBytes} are read`, { file: path });
  }
  const bytes = await handle.readFile();
  if (!isUtf8(bytes)) throw new ConfigError("syntax", "is not UTF-8 text; save it as UTF-8", { file: path });
  const text = bytes.toString("utf8");
  const hasByteOrderMark = text.startsWith("\ufeff");
  return { text: hasByteOrderMark ? text.slice(1) : text, mode: Number(stats.mode) & 0o777, hasByteOrderMark };
}
