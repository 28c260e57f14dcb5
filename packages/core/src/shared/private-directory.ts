/** Directories of ours, which nobody else can have put something into. */
import * as fs from "node:fs";
import { dirname } from "node:path";
import { errnoOf, wordsOf } from "./error-words.ts";

/** A place that is not ours, in words that say what to do about it. */
export class UnsafePathError extends Error {
  override readonly name = "UnsafePathError";
}

/** @throws UnsafePathError when someone else owns what is at the path */
export function assertOwner(path: string, ownerId: number): void {
  const ourId = process.getuid?.();
  if (ourId === undefined || isTrustedOwner(ownerId, ourId)) return;
  throw new UnsafePathError(
    `${path} belongs to user ${ownerId}, not to you (user ${ourId}); remove it or change its owner`,
  );
}

/** Root may work in the directories of others (a container with a mounted home); nobody else may. */
export function isTrustedOwner(ownerId: number, ourId: number): boolean {
  return ownerId === ourId || ourId === 0;
}

/**
 * Makes a directory (0700) unless it is there, with its parents.
 *
 * @param followLink Whether it may be a link of our own, as the place that a person chose; never for what lies in it.
 * @throws UnsafePathError
 */
export function ensurePrivateDirectory(path: string, followLink: boolean): void {
  try {
    makeDirectories(path);
    const link = fs.lstatSync(path);
    assertOwner(path, link.uid);
    const stats = followLink && link.isSymbolicLink() ? fs.statSync(path) : link;
    if (stats.isDirectory()) return assertOwner(path, stats.uid);
  } catch (error) {
    if (error instanceof UnsafePathError) throw error;
    throw new UnsafePathError(
      `cannot make the directory ${path} (${errnoOf(error) ?? wordsOf(error)}); choose a place that can be written`,
      { cause: error },
    );
  }
  throw new UnsafePathError(`${path} is in the way: a directory must be there; move it away`);
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
