/** Where a program is that commands cannot have put there. */
import { accessSync, constants, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { followLinks } from "../files/follow-links.ts";
import { isInside } from "../../shared/is-inside.ts";

const usualPlaces = ["/usr/bin", "/usr/local/bin", "/bin"];

/** @param path The variable `PATH`. */
export function programDirectories(path: string | undefined): string[] {
  return [...usualPlaces, ...(path ?? "").split(delimiter).filter((directory) => isAbsolute(directory))];
}

/**
 * @param avoidedDirs Real paths; what lies there, or is reached by a link there, is nobody's program.
 * @returns Absolute; `undefined` when there is none.
 */
export function findProgram(
  name: string,
  directories: readonly string[],
  avoidedDirs: readonly string[],
): string | undefined {
  return directories.map((directory) => join(directory, name)).find((file) => isUsable(file, avoidedDirs));
}

function isUsable(file: string, avoidedDirs: readonly string[]): boolean {
  try {
    accessSync(file, constants.X_OK);
    if (!statSync(file).isFile()) return false;
  } catch {
    return false;
  }
  const followed = followLinks(file);
  return (
    typeof followed !== "string" && !followed.visited.some((path) => avoidedDirs.some((dir) => isInside(dir, path)))
  );
}
