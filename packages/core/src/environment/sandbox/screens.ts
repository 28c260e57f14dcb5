/**
 * Directories that hold something hidden. What is hidden in them may be replaced, or come to be, while a command runs, and
 * no mount over it would hold against that: so the directory is one of ours, into which all else is mounted.
 */
import { type Dirent, lstatSync, readdirSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, sep } from "node:path";
import { isInside } from "../../shared/is-inside.ts";
import type { Mount } from "./mounts.ts";

/** Each costs every command some of a millisecond, and bubblewrap takes 9,000 arguments. */
export const maxShown = 600;
/** They have nothing of a person, and are not the host's for a command. */
const ofKernel = ["/dev", "/proc", "/sys"];

export interface Screens {
  /** The screens, and all that they show. */
  mounts: Mount[];
  /** Directories of which not all could be shown. */
  cut: string[];
}

/** @param hiddenPaths Absolute; most are not there. */
export function screensAround(hiddenPaths: readonly string[]): Screens {
  const found: Screens = { mounts: [], cut: [] };
  let left = maxShown;
  const directories = [...hiddenNames(hiddenPaths)].sort(([one], [other]) => one.length - other.length);
  for (const [at, hidden] of directories) {
    const entries = entriesOf(at, hidden);
    const shown = entries.slice(0, left);
    left -= shown.length;
    if (shown.length < entries.length) found.cut.push(at);
    found.mounts.unshift(...shown);
    found.mounts.push({ at, kind: "screen", shows: new Set(shown.map((mount) => mount.at)) });
  }
  return found;
}

/** By real directory: the names, and what they lead to. */
function hiddenNames(paths: readonly string[]): Map<string, Set<string>> {
  const found = new Map<string, Set<string>>();
  for (const path of paths) {
    for (const place of placesOf(path)) {
      const directory = dirname(place);
      if (directory === sep || ofKernel.some((kernel) => isInside(kernel, place))) continue;
      found.set(directory, (found.get(directory) ?? new Set()).add(basename(place)));
    }
  }
  return found;
}

/** Where it is or would be, and where it leads. */
function placesOf(path: string): string[] {
  try {
    const place = join(realpathSync.native(dirname(path)), basename(path));
    const entry = lstatSync(place, { throwIfNoEntry: false });
    return entry?.isSymbolicLink() === true ? [place, ...targetOf(place)] : [place];
  } catch {
    return [];
  }
}

function targetOf(link: string): string[] {
  try {
    return [realpathSync.native(link)];
  } catch {
    return [];
  }
}

/** Directories and links first, for most of what commands need is in them; then what has a name with a dot. */
function entriesOf(directory: string, hidden: ReadonlySet<string>): Mount[] {
  let entries: Dirent[];
  try {
    entries = readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
  const rank = (entry: Dirent): number => (!entry.isFile() ? 0 : entry.name.startsWith(".") ? 1 : 2);
  return entries
    .filter(({ name }) => !hidden.has(name))
    .sort((one, other) => rank(one) - rank(other))
    .flatMap((entry) => shownEntry(join(directory, entry.name), entry.isSymbolicLink()));
}

/** What cannot even be looked at, such as a network file system that has gone, would stop bubblewrap. */
function shownEntry(at: string, isLink: boolean): Mount[] {
  try {
    if (isLink) return [{ at, kind: "link", from: readlinkSync(at), isShown: true }];
    return [{ at, kind: "read", isFile: !statSync(at).isDirectory(), isShown: true }];
  } catch {
    return [];
  }
}
