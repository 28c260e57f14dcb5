/** Which files tools may touch, whatever name they give them. */
import type { BigIntStats } from "node:fs";
import { homedir } from "node:os";
import { basename, dirname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";
import { gateText } from "../text/text-gate.ts";
import { isInside } from "../../shared/is-inside.ts";
import { usableSecrets } from "../../shared/secrets.ts";
import { ToolError } from "../tool-error.ts";
import { foldedPath, forbiddenMatcher, isGlob, type NameMatcher } from "./file-names.ts";
import { type FollowedPath, followLinks } from "./follow-links.ts";
import { filesBelow, ForbiddenIdentities, identityKey, identityOf } from "./forbidden-inodes.ts";
import type { Span } from "./replace-text.ts";
import { tearsAny } from "./torn-text.ts";

export interface FileGuardOptions {
  /** Absolute, as are all paths here. */
  workspaceDir: string;
  scratchpadDir: string;
  /** Globs, relative to the Workspace; one without a slash holds in every directory. */
  forbiddenFiles: readonly string[];
  /** Everything below them too, except a Workspace or scratchpad that lies deeper. */
  forbiddenPaths: readonly string[];
  /** Where alone files may be written. Default: wherever they may be read. */
  writable?: { readonly roots: readonly string[]; readonly except: readonly string[] } | undefined;
  /** Masked in what is shown of files. */
  secrets?: readonly string[] | undefined;
}

export interface Opened {
  stats: BigIntStats;
  /** Where the system says that it is; `undefined` when it does not say so. */
  realPath: string | undefined;
}

/** No system takes a longer one, and each part of it is looked at. */
const maxPathBytes = 4096;

export class FileGuard {
  readonly workspaceDir: string;
  readonly options: FileGuardOptions;
  readonly #forbiddenRoots: readonly string[];
  readonly #allowedRoots: readonly string[];
  readonly #foldedWorkspace: string;
  readonly #matchers: readonly { glob: string; matches: NameMatcher }[];

  constructor(options: FileGuardOptions) {
    this.options = options;
    this.workspaceDir = realOf(options.workspaceDir);
    this.#foldedWorkspace = foldedPath(this.workspaceDir);
    this.#forbiddenRoots = bothForms(options.forbiddenPaths);
    this.#allowedRoots = bothForms([options.workspaceDir, options.scratchpadDir]);
    this.#matchers = options.forbiddenFiles.map((glob) => ({ glob, matches: forbiddenMatcher(glob) }));
  }

  /**
   * The real path of what a tool names.
   * @throws ToolError, the same one for a path that is forbidden, whether it exists or not.
   */
  resolve(path: string): string {
    if (path.includes("\0")) throw new ToolError("The path holds a NUL character: leave it out.");
    if (!path.isWellFormed()) throw new ToolError(`The path holds half a character: ${JSON.stringify(path)}`);
    const absolute = this.absolute(path);
    if (Buffer.byteLength(absolute) > maxPathBytes) {
      throw new ToolError(`The path has more than ${maxPathBytes} bytes, which no system takes.`);
    }
    const followed = followLinks(absolute);
    if (followed === undefined) throw new ToolError(`The links of this path go in a circle: ${path}`);
    if (this.#forbids(followed)) throw this.#notAllowed(path, followed.visited);
    return followed.real;
  }

  /** As `resolve`, of what is to be changed or made. */
  resolveForWriting(path: string): string {
    const real = this.resolve(path);
    const { writable } = this.options;
    if (writable === undefined) return real;
    // What may be written has exactly these names; what may not, every name that some file system takes for them.
    const isRoot = (root: string): boolean => isInside(realOf(root), real);
    const isExcept = (path: string): boolean => isInside(foldedPath(realOf(path)), foldedPath(real));
    if (!writable.roots.some(isRoot) || writable.except.some(isExcept)) {
      throw new ToolError(`Writing to ${JSON.stringify(path)} is not allowed in this sandbox.`);
    }
    return real;
  }

  /** The path as a tool wrote it leads to this file without any link. */
  isDirect(path: string, realPath: string): boolean {
    const absolute = normalize(this.absolute(path));
    if (absolute === realPath) return true;
    const inside = relative(resolve(this.options.workspaceDir), absolute);
    return join(this.workspaceDir, inside) === realPath;
  }

  /** For what a directory lists: a real path without links below it, in a directory that is not forbidden. */
  isForbiddenName(realPath: string): boolean {
    return this.#forbidsName(realPath) || this.#forbidsRootName(realPath);
  }

  /** For a directory that is about to be entered: it may be a forbidden one that was mounted elsewhere. */
  isForbiddenDirectory(realPath: string, identities = this.identities()): boolean {
    return this.isForbiddenName(realPath) || identities.hasRoot(identityOf(realPath));
  }

  /**
   * A second look at what was opened: it must be no forbidden file under another name (a hard link, a link that was
   * changed meanwhile).
   * @throws ToolError
   */
  checkOpened(path: string, { stats, realPath }: Opened, identities = this.identities()): void {
    // The system says so of what has been removed since.
    const names = realPath === undefined ? [] : [realPath, realPath.replace(/ \(deleted\)$/, "")];
    const isForbidden = names.some((name) => this.#forbids({ real: name, visited: [name] }));
    const identity = identityKey(stats);
    if (isForbidden || identities.hasRoot(identity) || identities.hasNamed(identity))
      throw this.#notAllowed(path, names);
    if (stats.nlink > 1n && identities.hasLinked(identity)) throw this.#notAllowed(path, names);
  }

  /** Of what is there now. */
  identities(): ForbiddenIdentities {
    const { forbiddenPaths, forbiddenFiles } = this.options;
    return new ForbiddenIdentities({
      roots: () => forbiddenPaths,
      named: () => forbiddenFiles.filter((glob) => !isGlob(glob)).map((name) => join(this.workspaceDir, name)),
      linked: () => this.#linkable(),
    });
  }

  *#linkable(): Generator<string> {
    const enters = (directory: string): boolean => !this.#allowedRoots.includes(foldedPath(directory));
    yield* filesBelow(this.options.forbiddenPaths, enters);
    if (this.#matchers.length === 0) return;
    for (const path of filesBelow([this.workspaceDir], () => true)) if (this.#forbidsName(path)) yield path;
  }

  /** Before a text is cut or searched: a half of a secret is not known for one afterwards. */
  masked(text: string): string {
    const { secrets } = this.options;
    return secrets === undefined || secrets.length === 0 ? text : gateText(text, secrets);
  }

  /** What is left of a secret after such a replacement would not be known for one. */
  tearsSecret(text: string, spans: readonly Span[]): boolean {
    return tearsAny(text, spans, usableSecrets(this.options.secrets ?? []));
  }

  /** As it is written, links and `..` included. */
  absolute(path: string): string {
    if (path === "~" || path.startsWith("~/")) return join(homedir(), path.slice(1));
    return isAbsolute(path) ? path : `${resolve(this.options.workspaceDir)}${sep}${path}`;
  }

  #forbids({ real, visited }: FollowedPath): boolean {
    return (
      visited.some((path) => this.#forbidsName(path)) || this.#forbidsRootName(real) || this.#forbidsRootIdentity(real)
    );
  }

  #forbidsRootName(path: string): boolean {
    if (isProcessFile(path)) return true;
    const depth = deepest(this.#forbiddenRoots, path);
    return depth > 0 && depth >= deepest(this.#allowedRoots, path);
  }

  /** It lies in a forbidden directory that can be reached by another path: a mount, a name that only the system knows. */
  #forbidsRootIdentity(path: string): boolean {
    if (this.options.forbiddenPaths.length === 0) return false;
    const identities = this.identities();
    for (let current = path; ; current = dirname(current)) {
      if (this.#allowedRoots.includes(foldedPath(current))) return false;
      if (identities.hasRoot(identityOf(current))) return true;
      if (dirname(current) === current) return false;
    }
  }

  #forbidsName(path: string): boolean {
    return isProcessFile(path) || this.#patternOf(path) !== undefined;
  }

  #patternOf(path: string): string | undefined {
    if (this.#matchers.length === 0) return undefined;
    const names = this.#namesOf(path);
    return this.#matchers.find(({ matches }) => names.some(matches))?.glob;
  }

  /** Names the pattern where there is one: where the Coxswain home lies, and what a hard link leads to, is not told. */
  #notAllowed(path: string, visited: readonly string[]): ToolError {
    for (const name of visited) {
      const pattern = this.#patternOf(name);
      if (pattern === undefined) continue;
      const words = `the project's forbidden_files forbid ${JSON.stringify(pattern)}`;
      return new ToolError(`Access to ${JSON.stringify(path)} is not allowed: ${words}.`);
    }
    return new ToolError(`Access to ${JSON.stringify(path)} is not allowed.`);
  }

  /** The path and every directory above it within the Workspace; outside only its own name. */
  #namesOf(path: string): string[] {
    if (!isInside(this.#foldedWorkspace, foldedPath(path))) return [basename(path)];
    const steps = stepsOf(path).slice(stepsOf(this.workspaceDir).length);
    return steps.map((_, index) => steps.slice(0, index + 1).join("/"));
  }
}

function stepsOf(path: string): string[] {
  return path.split(sep).filter((step) => step !== "");
}

/** As it is written, and without links. */
function bothForms(paths: readonly string[]): string[] {
  return paths.flatMap((path) => [resolve(path), realOf(path)]).map(foldedPath);
}

function realOf(path: string): string {
  return followLinks(resolve(path))?.real ?? resolve(path);
}

/** Length of the longest root that holds the path; 0 when none does. */
function deepest(roots: readonly string[], path: string): number {
  const name = foldedPath(path);
  let length = 0;
  for (const root of roots) if (root.length > length && isInside(root, name)) length = root.length;
  return length;
}

/** Other names for open files, memory and environments, this process's among them. */
function isProcessFile(path: string): boolean {
  return /^\/proc\/(?:\d+|self|thread-self)(?:\/|$)/.test(path);
}
