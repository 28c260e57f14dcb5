/** Opening and making files of ours without following what someone else put in their place. */
import * as fs from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf } from "../shared/error-words.ts";
import { assertOwner, ensurePrivateDirectory, UnsafePathError } from "../shared/private-directory.ts";
import {
  NotRegularFileError,
  openRegularFile,
  openRegularFileSync,
  type OpenRegularFileOptions,
  readRegularFileSync,
} from "../shared/regular-file.ts";
import { TraceError } from "./trace-error.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_RDWR } = fs.constants;
const appendFlags = O_RDWR | O_APPEND | O_CREAT;

export interface OpenedFile {
  descriptor: number;
  /** The last byte is no newline: a line was cut. */
  endsTorn: boolean;
  isEmpty: boolean;
}

/**
 * Opens a file (0600) to append to it. Its directory is made again when somebody has removed it, but none above: a disk
 * that is gone takes those with it.
 *
 * @param mustBeNew An existing file is an error (`EEXIST`).
 * @throws TraceError `unsafe_path`, or a system error
 */
export function openForAppend(path: string, mustBeNew: boolean): OpenedFile {
  const flags = mustBeNew ? appendFlags | O_EXCL : appendFlags;
  const open = (): ReturnType<typeof openRegularFileSync> =>
    openRegularFileSync(path, { ...ours(path), flags, mode: 0o600 });
  const { descriptor, stats } = safely(path, () => withDirectory(dirname(path), open));
  try {
    const size = Number(stats.size);
    return { descriptor, endsTorn: size > 0 && lastByte(descriptor, size) !== 0x0a, isEmpty: size === 0 };
  } catch (error) {
    fs.closeSync(descriptor);
    throw error;
  }
}

function withDirectory<T>(directory: string, open: () => T): T {
  try {
    return open();
  } catch (error) {
    if (errnoOf(error) !== "ENOENT") throw error;
    makeDirectory(directory);
    return open();
  }
}

function makeDirectory(path: string): void {
  try {
    fs.mkdirSync(path, 0o700);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/** Some file systems count no names: the path has the last word. */
export function isRemoved(descriptor: number, path: string): boolean {
  const file = fs.fstatSync(descriptor);
  if (file.nlink > 0) return false;
  const named = fs.lstatSync(path, { throwIfNoEntry: false });
  return named?.ino !== file.ino || named.dev !== file.dev;
}

/** @throws TraceError `unsafe_path`, or a system error */
export async function openForRead(path: string): Promise<FileHandle> {
  try {
    return (await openRegularFile(path, ours(path))).handle;
  } catch (error) {
    throw asUnsafe(path, error);
  }
}

/** The text of a small file. */
export function readOurFile(path: string): string {
  return safely(path, () => readRegularFileSync(path, ours(path)).toString("utf8"));
}

/**
 * Makes a directory (0700) unless it is there, with its parents.
 *
 * @param followLink Whether it may be a link of our own, as the place that a person chose; never for what lies in it.
 * @throws TraceError `unsafe_path`
 */
export function ensureTraceDirectory(path: string, followLink: boolean): void {
  safely(path, () => ensurePrivateDirectory(path, followLink));
}

function ours(path: string): OpenRegularFileOptions {
  return { check: (stats) => assertOwner(path, Number(stats.uid)) };
}

function safely<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw asUnsafe(path, error);
  }
}

function asUnsafe(path: string, error: unknown): unknown {
  if (error instanceof UnsafePathError) return new TraceError("unsafe_path", error.message, { cause: error.cause });
  const code = errnoOf(error);
  if (code === "ELOOP" || code === "EMLINK") return new TraceError("unsafe_path", `${path} is a link; remove it`);
  if (code === "ENXIO" || error instanceof NotRegularFileError) {
    return new TraceError("unsafe_path", `${path} is not a regular file; remove it`);
  }
  return error;
}

function lastByte(descriptor: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  return fs.readSync(descriptor, byte, 0, 1, size - 1) === 1 ? byte[0] : undefined;
}
