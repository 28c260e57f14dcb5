/** What is in a directory and below, nearest first; links are never followed. */
import type { Dirent } from "node:fs";
import { basename, join, relative, sep } from "node:path";
import picomatch from "picomatch";
import type { FileGuard } from "./file-guard.ts";
import type { ForbiddenIdentities } from "./forbidden-inodes.ts";
import { IgnoreRules } from "./ignore-rules.ts";
import { listDirectory } from "./list-directory.ts";

export interface WalkedEntry {
  /** Real, absolute. */
  path: string;
  kind: "file" | "directory" | "other";
}

export interface WalkOptions {
  guard: FileGuard;
  /** Real path of a directory. */
  root: string;
}

/** Leaves out what is forbidden, what .gitignore names, and `.git`. @throws what `listDirectory` throws for the root */
export function* walk({ guard, root }: WalkOptions): Generator<WalkedEntry> {
  const identities = guard.identities();
  const queue = [{ directory: root, rules: IgnoreRules.load(guard.workspaceDir, root) }];
  // The queue is walked along, not shifted: it may be long.
  for (const { directory, rules } of queue) {
    for (const entry of entriesOf(directory, directory === root, identities)) {
      const path = join(directory, entry.name);
      const kind = kindOf(entry);
      if (entry.name === ".git" || rules.ignores(path, kind === "directory")) continue;
      if (kind === "directory" ? guard.isForbiddenDirectory(path, identities) : guard.isForbiddenName(path)) continue;
      yield { path, kind };
      if (kind === "directory") queue.push({ directory: path, rules: rules.enter(path) });
    }
  }
}

/** @param glob Relative to the root; without a slash it holds in every directory. `undefined` = everything. */
export function globMatcher(root: string, glob: string | undefined): (path: string) => boolean {
  if (glob === undefined) return () => true;
  const pattern = glob.replace(/^\.?\//, "");
  const matches = picomatch(pattern, { dot: true, flags: "s" });
  if (!pattern.includes("/")) return (path) => matches(basename(path));
  return (path) => matches(relative(root, path).split(sep).join("/"));
}

/** What cannot be listed is passed over, but for the root, which somebody has asked for. */
function entriesOf(directory: string, isRoot: boolean, identities: ForbiddenIdentities): Dirent[] {
  try {
    return listDirectory(directory, identities);
  } catch (error) {
    if (isRoot) throw error;
    return [];
  }
}

function kindOf(entry: Dirent): WalkedEntry["kind"] {
  if (entry.isDirectory()) return "directory";
  return entry.isFile() ? "file" : "other";
}
