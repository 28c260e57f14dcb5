/** Where a program is that commands cannot have put there. */
import { accessSync, constants, realpathSync, statSync } from "node:fs";
import { delimiter, isAbsolute, join } from "node:path";
import { isWithin } from "./mounts.ts";

const usualPlaces = ["/usr/bin", "/usr/local/bin", "/bin"];

/** @param path The variable `PATH`. */
export function programDirectories(path: string | undefined): string[] {
  return [...usualPlaces, ...(path ?? "").split(delimiter).filter((directory) => isAbsolute(directory))];
}

/**
 * @param workspaceDir A real path; what lies there is nobody's program.
 * @returns Absolute; `undefined` when there is none.
 */
export function findProgram(name: string, directories: readonly string[], workspaceDir: string): string | undefined {
  return directories.map((directory) => join(directory, name)).find((file) => isUsable(file, workspaceDir));
}

function isUsable(file: string, workspaceDir: string): boolean {
  try {
    const real = realpathSync(file);
    accessSync(real, constants.X_OK);
    return statSync(real).isFile() && !isWithin(real, workspaceDir);
  } catch {
    return false;
  }
}
