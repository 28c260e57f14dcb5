/** Opening and making files of ours without following what someone else put in their place. */
import * as fs from "node:fs";
import type { FileHandle } from "node:fs/promises";
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
}

/**
 * Opens a file (0600) to append to it.
 *
 * @param mustBeNew An existing file is an error (`EEXIST`).
 * @throws TraceError `unsafe_path`, or a system error
 */
export function openForAppend(path: string, mustBeNew: boolean): OpenedFile {
  const flags = mustBeNew ? appendFlags | O_EXCL : appendFlags;
  const { descriptor, stats } = safely(path, () => openRegularFileSync(path, { ...ours(path), flags, mode: 0o600 }));
  try {
    const size = Number(stats.size);
    return { descriptor, endsTorn: size > 0 && lastByte(descriptor, size) !== 0x0a };
  } catch (error) {
    fs.closeSync(descriptor);
    throw error;
  }
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
