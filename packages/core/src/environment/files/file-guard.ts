/** Which files tools may touch, whatever name they give them. */
import { type BigIntStats, type Dirent, readdirSync, statSync } from "node:fs";
import { basename, isAbsolute, join, relative, resolve, sep } from "node:path";
import picomatch from "picomatch";
import { ToolError } from "../tool-error.ts";
import { type FollowedPath, followLinks } from "./follow-links.ts";

export interface FileGuardOptions {
  /** Absolute, as are all paths here. */
  workspaceDir: string;
  scratchpadDir: string;
  /** Globs, relative to the Workspace; one without a slash holds in every directory. */
  forbiddenFiles: readonly string[];
  /** Everything below them too, except a Workspace or scratchpad that lies deeper. */
  forbiddenPaths: readonly string[];
}

const maxForbiddenFiles = 5000;

export class FileGuard {
  readonly workspaceDir: string;
  readonly options: FileGuardOptions;
  readonly #forbiddenRoots: readonly string[];
  readonly #allowedRoots: readonly string[];
  readonly #matchers: readonly ((path: string) => boolean)[];

  constructor(options: FileGuardOptions) {
    this.options = options;
    this.workspaceDir = realOf(options.workspaceDir);
    this.#forbiddenRoots = options.forbiddenPaths.flatMap((path) => [resolve(path), realOf(path)]).map(folded);
    this.#allowedRoots = [options.workspaceDir, options.scratchpadDir]
      .flatMap((path) => [resolve(path), realOf(path)])
      .map(folded);
    this.#matchers = options.forbiddenFiles.flatMap(matchersOf);
  }

  /**
   * The real path of what a tool names.
   * @throws ToolError, the same one for everything that is forbidden, whether it exists or not.
   */
  resolve(path: string): string {
    if (path.includes("\0")) throw new ToolError("The path holds a NUL character: leave it out.");
    const followed = followLinks(resolve(this.options.workspaceDir, path));
    if (followed === undefined) throw new ToolError(`The links of this path go in a circle: ${path}`);
    if (this.#forbids(followed)) throw forbidden(path);
    return followed.real;
  }

  /** For what a directory lists: a real path without links below it. */
  isForbidden(realPath: string): boolean {
    return this.#forbids({ real: realPath, visited: [realPath] });
  }

  /**
   * A second look at what was opened: it must be no forbidden file under another name (a hard link, a link that was
   * changed meanwhile).
   * @throws ToolError
   */
  checkOpened(path: string, opened: { stats: BigIntStats; realPath: string | undefined }): void {
    if (opened.realPath !== undefined && this.isForbidden(opened.realPath)) throw forbidden(path);
    const plain = this.options.forbiddenFiles.filter((glob) => !/[*?[\]{}()!]/.test(glob));
    const named = plain.map((name) => resolve(this.options.workspaceDir, name));
    const below = opened.stats.nlink > 1n ? this.options.forbiddenPaths.flatMap((root) => filesBelow(root)) : [];
    for (const candidate of [...named, ...this.options.forbiddenPaths, ...below]) {
      if (isSameFile(candidate, opened.stats)) throw forbidden(path);
    }
  }

  #forbids(followed: FollowedPath): boolean {
    return followed.visited.some((path) => this.#forbidsName(path)) || this.#forbidsRoot(followed.real);
  }

  #forbidsRoot(path: string): boolean {
    if (isProcessFile(path)) return true;
    const depth = deepest(this.#forbiddenRoots, path);
    return depth > 0 && depth >= deepest(this.#allowedRoots, path);
  }

  #forbidsName(path: string): boolean {
    if (isProcessFile(path)) return true;
    if (this.#matchers.length === 0) return false;
    return this.#namesOf(path).some((name) => this.#matchers.some((matches) => matches(folded(name))));
  }

  /** The path and every directory above it within the Workspace; outside only its own name. */
  #namesOf(path: string): string[] {
    const inside = relative(this.workspaceDir, path);
    if (inside === "") return [];
    if (inside.startsWith("..") || isAbsolute(inside)) return [basename(path)];
    const steps = inside.split(sep);
    return steps.map((_, index) => steps.slice(0, index + 1).join("/"));
  }
}

function isSameFile(path: string, stats: BigIntStats): boolean {
  try {
    const other = statSync(path, { bigint: true, throwIfNoEntry: false });
    return other?.ino === stats.ino && other.dev === stats.dev;
  } catch {
    return false;
  }
}

/** At most so many: it is asked for each file that has a second name. */
function filesBelow(root: string): string[] {
  const found: string[] = [];
  const directories = [root];
  for (let next = directories.pop(); next !== undefined && found.length < maxForbiddenFiles; next = directories.pop()) {
    for (const entry of entriesOf(next)) {
      if (entry.isDirectory()) directories.push(join(next, entry.name));
      else found.push(join(next, entry.name));
    }
  }
  return found;
}

function entriesOf(directory: string): Dirent[] {
  try {
    return readdirSync(directory, { withFileTypes: true });
  } catch {
    return [];
  }
}

/** Names are compared without case: a file system may not tell them apart. */
function folded(path: string): string {
  return path.normalize("NFC").toLowerCase();
}

function realOf(path: string): string {
  return followLinks(resolve(path))?.real ?? resolve(path);
}

/** Length of the longest root that holds the path; 0 when none does. */
function deepest(roots: readonly string[], path: string): number {
  const name = folded(path);
  let length = 0;
  for (const root of roots) {
    const holds = name === root || name.startsWith(root.endsWith(sep) ? root : root + sep);
    if (holds && root.length > length) length = root.length;
  }
  return length;
}

/** Other names for open files, memory and environments, this process's among them. */
function isProcessFile(path: string): boolean {
  return /^\/proc\/(?:\d+|self|thread-self)(?:\/|$)/.test(path);
}

function matchersOf(glob: string): ((path: string) => boolean)[] {
  const pattern = folded(glob)
    .replace(/^\.?\//, "")
    .replace(/\/+$/, "");
  const anywhere = pattern.includes("/") ? pattern : `**/${pattern}`;
  return [picomatch(anywhere, { dot: true })];
}

function forbidden(path: string): ToolError {
  return new ToolError(`Access to ${JSON.stringify(path)} is not allowed.`);
}
