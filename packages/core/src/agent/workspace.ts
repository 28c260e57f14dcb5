/** The directory that a Session works in. */
import { randomBytes } from "node:crypto";
import { stat } from "node:fs/promises";
import { resolve } from "node:path";
import { ConfigError, showValue } from "../config/config-error.ts";
import { ensureDirectory, type ProjectPaths } from "../config/home.ts";

/**
 * @param given Default: a new directory of the agent's own.
 * @returns Absolute path.
 * @throws ConfigError when it is no directory
 */
export async function openWorkspace(given: string | undefined, paths: ProjectPaths): Promise<string> {
  if (given === undefined) {
    const path = paths.temporaryWorkspaceDir(randomBytes(4).toString("hex"));
    ensureDirectory(path);
    return path;
  }
  const path = resolve(given);
  await checkWorkspace(path);
  return path;
}

/**
 * @param advice What to do when there is none.
 * @throws ConfigError
 */
export async function checkWorkspace(path: string, advice = "name a directory that exists"): Promise<void> {
  const found = await stat(path).catch((error: unknown) => {
    const reason =
      error instanceof Error && "code" in error && error.code !== "ENOENT" ? `: ${String(error.code)}` : "";
    throw new ConfigError(
      "invalid_value",
      `the workspace ${showValue(path)} cannot be used${reason === "" ? ": there is no such directory" : reason}; ${advice}`,
    );
  });
  if (found.isDirectory()) return;
  throw new ConfigError("invalid_value", `the workspace ${showValue(path)} is a file; name a directory`);
}
