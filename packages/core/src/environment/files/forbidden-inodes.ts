/** Forbidden files by what they are instead of how they are called: a hard link is a second name, a mount another path. */
import { type Dirent, readdirSync, statSync } from "node:fs";
import { join } from "node:path";

export interface Identity {
  readonly dev: bigint;
  readonly ino: bigint;
}

/** Of all that is looked at; a hard link is made by somebody who could as well copy. */
const maxEntries = 5000;
/** Large, and no place for a secret of one's own. */
const skippedDirectories = new Set([".git", "node_modules"]);

type Finders = Readonly<Record<"roots" | "named" | "linked", () => Iterable<string>>>;

/** Each looked up when it is first asked for, then remembered: for one call, or one search. */
export class ForbiddenIdentities {
  readonly #find: Finders;
  readonly #found = new Map<string, ReadonlySet<string>>();

  /** @param find Paths of each kind. */
  constructor(find: Finders) {
    this.#find = find;
  }

  /** Directories of which all is forbidden, and files. */
  hasRoot(identity: string | undefined): boolean {
    return this.#has("roots", identity);
  }

  /** Files that are forbidden by their whole name. */
  hasNamed(identity: string): boolean {
    return this.#has("named", identity);
  }

  /** Everything forbidden that may have a second name. Takes a look at directories: ask only when it matters. */
  hasLinked(identity: string): boolean {
    return this.#has("linked", identity);
  }

  #has(kind: keyof Finders, identity: string | undefined): boolean {
    let found = this.#found.get(kind);
    if (found === undefined) {
      found = new Set([...this.#find[kind]()].flatMap((path) => identityOf(path) ?? []));
      this.#found.set(kind, found);
    }
    return identity !== undefined && found.has(identity);
  }
}

/** `undefined` when there is nothing, or nothing that we may look at. */
export function identityOf(path: string): string | undefined {
  try {
    const stats = statSync(path, { bigint: true, throwIfNoEntry: false });
    return stats === undefined ? undefined : identityKey(stats);
  } catch {
    return undefined;
  }
}

export function identityKey({ dev, ino }: Identity): string {
  return `${dev}:${ino}`;
}

/**
 * Nearest first, as far as they are looked at.
 *
 * @param enters Whether to look into a directory.
 */
export function* filesBelow(roots: readonly string[], enters: (directory: string) => boolean): Generator<string> {
  const directories = [...roots];
  let seen = 0;
  for (let next = directories.shift(); next !== undefined; next = directories.shift()) {
    for (const entry of entriesOf(next)) {
      if (++seen > maxEntries) return;
      const path = join(next, entry.name);
      if (!entry.isDirectory()) yield path;
      else if (!skippedDirectories.has(entry.name) && enters(path)) directories.push(path);
    }
  }
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}
