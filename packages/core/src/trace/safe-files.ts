/** Opening and making files of ours without following what someone else put in their place. */
import * as fs from "node:fs";
import { type FileHandle, open } from "node:fs/promises";
import { dirname } from "node:path";
import { errnoOf, TraceError, wordsOf } from "./trace-error.ts";

const { O_APPEND, O_CREAT, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR } = fs.constants;
// O_NONBLOCK: opening a FIFO that someone planted must not hang.
const appendFlags = O_RDWR | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK;

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
  const descriptor = refusingLinks(path, () =>
    fs.openSync(path, mustBeNew ? appendFlags | O_EXCL : appendFlags, 0o600),
  );
  try {
    const stats = fs.fstatSync(descriptor);
    assertOurFile(path, stats);
    return { descriptor, endsTorn: stats.size > 0 && lastByte(descriptor, stats.size) !== 0x0a };
  } catch (error) {
    fs.closeSync(descriptor);
    throw error;
  }
}

/** @throws TraceError `unsafe_path`, or a system error */
export async function openForRead(path: string): Promise<FileHandle> {
  let handle: FileHandle;
  try {
    handle = await open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
  } catch (error) {
    throw asUnsafe(path, error);
  }
  try {
    assertOurFile(path, await handle.stat());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The text of a small file. */
export function readOurFile(path: string): string {
  const descriptor = refusingLinks(path, () => fs.openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK));
  try {
    assertOurFile(path, fs.fstatSync(descriptor));
    return fs.readFileSync(descriptor, "utf8");
  } finally {
    fs.closeSync(descriptor);
  }
}

function refusingLinks<T>(path: string, action: () => T): T {
  try {
    return action();
  } catch (error) {
    throw asUnsafe(path, error);
  }
}

function asUnsafe(path: string, error: unknown): unknown {
  const code = errnoOf(error);
  if (code === "ELOOP" || code === "EMLINK") return new TraceError("unsafe_path", `${path} is a link; remove it`);
  if (code === "ENXIO") return new TraceError("unsafe_path", `${path} is not a regular file; remove it`);
  return error;
}

function lastByte(descriptor: number, size: number): number | undefined {
  const byte = Buffer.alloc(1);
  return fs.readSync(descriptor, byte, 0, 1, size - 1) === 1 ? byte[0] : undefined;
}

function assertOurFile(path: string, stats: fs.Stats): void {
  if (!stats.isFile()) throw new TraceError("unsafe_path", `${path} is not a regular file; remove it`);
  assertOwner(path, stats.uid);
}

function assertOwner(path: string, ownerId: number): void {
  const ourId = process.getuid?.();
  if (ourId === undefined || isTrustedOwner(ownerId, ourId)) return;
  throw new TraceError(
    "unsafe_path",
    `${path} belongs to user ${ownerId}, not to you (user ${ourId}); remove it or change its owner`,
  );
}

/** Root may work in the directories of others (a container with a mounted home); nobody else may. */
export function isTrustedOwner(ownerId: number, ourId: number): boolean {
  return ownerId === ourId || ourId === 0;
}

/** The platform's own recursive way never ends where the system refuses a directory as if its parent were missing. */
function makeDirectories(path: string): void {
  try {
    fs.mkdirSync(path, 0o700);
  } catch (error) {
    const code = errnoOf(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || dirname(path) === path) throw error;
    makeDirectories(dirname(path));
    makeLast(path);
  }
}

/** Another process may have been quicker. */
function makeLast(path: string): void {
  try {
    fs.mkdirSync(path, 0o700);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  }
}

/**
 * Makes a directory (0700) unless it is there, with its parents.
 *
 * @param followLink Whether it may be a link of our own, as the place that a person chose; never for what lies in it.
 * @throws TraceError `unsafe_path`
 */
export function ensurePrivateDirectory(path: string, followLink: boolean): void {
  try {
    makeDirectories(path);
    const link = fs.lstatSync(path);
    assertOwner(path, link.uid);
    const stats = followLink && link.isSymbolicLink() ? fs.statSync(path) : link;
    if (stats.isDirectory()) return assertOwner(path, stats.uid);
  } catch (error) {
    if (error instanceof TraceError) throw error;
    throw new TraceError("unsafe_path", `cannot make the directory ${path}: ${wordsOf(error)}`, { cause: error });
  }
  throw new TraceError("unsafe_path", `${path} is in the way: a directory must be there; move it away`);
}
