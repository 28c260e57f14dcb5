/** Reads a file of ours that a person edits. */
import { isUtf8 } from "node:buffer";
import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { ConfigError } from "./config-error.ts";

const maxFileBytes = 256 * 1024;

export interface ConfigFile {
  text: string;
  /** Permission bits. */
  mode: number;
}

/**
 * `undefined` when there is no such file.
 *
 * @throws ConfigError
 */
export async function readConfigFile(path: string): Promise<ConfigFile | undefined> {
  let file: FileHandle | undefined;
  try {
    // Opening a FIFO must not hang.
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    return await readOpened(path, file);
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return undefined;
    const problem = error instanceof Error ? error.message : String(error);
    throw new ConfigError("unreadable", `cannot be read: ${problem}`, { file: path, cause: error });
  } finally {
    await file?.close();
  }
}

async function readOpened(path: string, file: FileHandle): Promise<ConfigFile> {
  const stats = await file.stat();
  if (!stats.isFile()) throw new ConfigError("unreadable", "must be a regular file", { file: path });
  if (stats.size > maxFileBytes) {
    throw new ConfigError("unreadable", `has ${stats.size} bytes; at most ${maxFileBytes} are read`, { file: path });
  }
  const bytes = await file.readFile();
  if (!isUtf8(bytes)) throw new ConfigError("syntax", "is not UTF-8 text; save it as UTF-8", { file: path });
  return { text: bytes.toString("utf8").replace(/^\ufeff/, ""), mode: stats.mode & 0o777 };
}
