/** What a person means by the files that he forbids: names in the Workspace, or places on the machine. */
import { homedir } from "node:os";
import { basename, dirname, join, normalize } from "node:path";
import { isInside } from "../../shared/is-inside.ts";
import { realPathOf } from "../../shared/real-path.ts";
import { isGlob } from "./file-names.ts";

export interface ForbiddenPatterns {
  /** Globs, relative to the Workspace. */
  files: string[];
  /** Absolute; with all below them. */
  paths: string[];
}

/**
 * A slash in front may mean the top of the Workspace, as in a .gitignore, or that of the machine: both are forbidden. Of a
 * pattern outside of the Workspace all is forbidden that lies in the directory in front of it, since what is forbidden
 * too much is noticed, and what is forbidden too little is not.
 */
export function forbiddenPatterns(workspaceDir: string, patterns: readonly string[]): ForbiddenPatterns {
  const found: ForbiddenPatterns = { files: [], paths: [] };
  const roots = [workspaceDir, realPathOf(workspaceDir)];
  for (const pattern of patterns) {
    const isHome = pattern === "~" || pattern.startsWith("~/");
    if (!isHome) found.files.push(pattern);
    if (!isHome && !pattern.startsWith("/")) continue;
    const absolute = isHome ? join(homedir(), pattern.slice(1)) : normalize(pattern);
    const root = roots.find((candidate) => absolute.startsWith(`${candidate}/`));
    if (root !== undefined) {
      found.files.push(absolute.slice(root.length));
      continue;
    }
    const place = directoryBefore(absolute);
    if (place === "/") continue;
    found.paths.push(place);
    // The Workspace in it stays open, but for what the pattern may name there.
    if (place !== absolute && roots.some((candidate) => isInside(place, candidate)))
      found.files.push(basename(pattern));
  }
  return found;
}

/** The path itself when there is no glob in it. */
function directoryBefore(pattern: string): string {
  let place = pattern;
  while (isGlob(place)) place = dirname(place);
  return place;
}
