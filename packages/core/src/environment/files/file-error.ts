/** What the system says of a file, in words. */
import type { BigIntStats, Stats } from "node:fs";
import { errnoOf, wordsOf } from "../../shared/error-words.ts";
import { ToolError } from "../tool-error.ts";

/** @throws ToolError for a directory, FIFO, device or socket. */
export function refuseSpecial(path: string, entry: Stats | BigIntStats): void {
  if (entry.isFile()) return;
  if (entry.isDirectory()) throw new ToolError(`${path} is a directory: use list_files to see what is in it.`);
  throw new ToolError(`${path} is no regular file (${kindOf(entry)}): it can be neither read nor written here.`);
}

function kindOf(entry: Stats | BigIntStats): string {
  if (entry.isFIFO()) return "a FIFO";
  if (entry.isSocket()) return "a socket";
  if (entry.isCharacterDevice() || entry.isBlockDevice()) return "a device";
  return "a link that changed meanwhile";
}

const words: Readonly<Record<string, (path: string) => string>> = {
  ENOENT: (path) => `There is no file ${path}.`,
  ENOTDIR: (path) => `A part of ${path} is a file, not a directory.`,
  EACCES: (path) => `The system does not permit access to ${path}.`,
  EPERM: (path) => `The system does not permit access to ${path}.`,
  ENAMETOOLONG: (path) => `The path is too long for the system: ${path}`,
  ELOOP: (path) => `${path} became a link meanwhile: try again.`,
  EAGAIN: (path) => `${path} has nothing to read now, and is not waited for.`,
};

/** A `ToolError` for every error of the system; the others as they are. */
export function fileError(path: string, error: unknown): Error {
  const code = errnoOf(error);
  if (error instanceof ToolError || code === undefined)
    return error instanceof Error ? error : new Error(wordsOf(error));
  // After the comma comes a path that says nothing to the reader.
  return new ToolError(words[code]?.(path) ?? `${path}: ${wordsOf(error).split(",")[0]}`);
}
