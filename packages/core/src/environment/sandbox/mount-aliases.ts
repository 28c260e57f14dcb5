/** The same files at other paths: a file system, or a part of one, may be mounted more than once. */
import { readFileSync } from "node:fs";
import { join, relative } from "node:path";
import { isInside } from "../../shared/is-inside.ts";

interface MountEntry {
  device: string;
  /** What part of the file system is mounted. */
  root: string;
  at: string;
}

const maxEntries = 1000;
const maxAliases = 200;

/** As the system lists it for this process; empty where it does not. */
export function readMountTable(): string {
  try {
    return readFileSync("/proc/self/mountinfo", "utf8");
  } catch {
    return "";
  }
}

/** The paths, and where else what is or comes to be there can be found. Pure. */
export function withAliases(paths: readonly string[], mountTable: string): string[] {
  const entries = mountTable.split("\n").slice(0, maxEntries).flatMap(entryOf);
  const aliases = paths.flatMap((path) => aliasesOf(path, entries)).slice(0, maxAliases);
  return [...new Set([...paths, ...aliases])];
}

function aliasesOf(path: string, entries: readonly MountEntry[]): string[] {
  let home: MountEntry | undefined;
  for (const entry of entries) {
    // The last one at a path hides those before it.
    if (isInside(entry.at, path) && (home === undefined || entry.at.length >= home.at.length)) home = entry;
  }
  if (home === undefined) return [];
  const { device, at, root } = home;
  const inside = join(root, relative(at, path));
  return entries
    .filter((entry) => entry !== home && entry.device === device)
    .flatMap((entry) => {
      if (isInside(entry.root, inside)) return [join(entry.at, relative(entry.root, inside))];
      // A part of what is hidden.
      return isInside(inside, entry.root) ? [entry.at] : [];
    });
}

function entryOf(line: string): MountEntry[] {
  const [, , device, root, at] = line.split(" ");
  if (device === undefined || root === undefined || at === undefined) return [];
  return [{ device, root: unescaped(root), at: unescaped(at) }];
}

function unescaped(path: string): string {
  return path.replace(/\\([0-7]{3})/g, (_, code: string) => String.fromCharCode(Number.parseInt(code, 8)));
}
