/** Which files tools may touch, whatever name they give them. */
import type { BigIntStats } from "node:fs";
import { homedir } from "node:os";
import { dirname, isAbsolute, join, normalize, relative, resolve, sep } from "node:path";
import { gateText } from "../text/text-gate.ts";
import { isInside } from "../../shared/is-inside.ts";
import { usableSecrets } from "../../shared/secrets.ts";
import { ToolError } from "../tool-error.ts";
import { foldedPath, forbiddenMatcher, isGlob } from "./file-names.ts";
import { type FixedPlaces, fixPlaces, type MovedPlace, movedPlace, realOf } from "./fixed-places.ts";
import { type FollowedPath, followLinks, type LinkProblem, maxPathBytes, maxSteps } from "./follow-links.ts";
import { filesBelow, ForbiddenIdentities, identityKey, identityOf } from "./forbidden-inodes.ts";
import { ForbiddenNames, type MatcherOf } from "./forbidden-names.ts";
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
  /** Of the Workspace, the scratchpad and the writable roots. Default: where they are when the guard is made. */
  places?: FixedPlaces | undefined;
}

export interface Opened {
  stats: BigIntStats;
  /** Where the system says that it is; `undefined` when it does not say so. */
  realPath: string | undefined;
}

export class FileGuard {
  readonly workspaceDir: string;
  /** With the places, for a guard in another thread. */
  readonly options: FileGuardOptions & { readonly places: FixedPlaces };
  readonly #forbiddenRoots: readonly string[];
  readonly #allowedRoots: readonly string[];
  readonly #names: ForbiddenNames;
  readonly #writable: { readonly roots: readonly string[]; readonly except: readonly string[] } | undefined;

  /** @param matcherOf How a pattern of forbidden files is matched. */
  constructor(options: FileGuardOptions, matcherOf: MatcherOf = forbiddenMatcher) {
    const { workspaceDir, scratchpadDir, writable } = options;
    const places = options.places ?? fixPlaces([workspaceDir, scratchpadDir, ...(writable?.roots ?? [])]);
    const placeOf = (path: string): string => places.get(path) ?? realOf(path);
    this.options = { ...options, places };
    this.workspaceDir = placeOf(workspaceDir);
    this.#forbiddenRoots = bothForms(options.forbiddenPaths, realOf);
    this.#allowedRoots = bothForms([workspaceDir, scratchpadDir], placeOf);
    this.#writable = writable && { roots: writable.roots.map(placeOf), except: bothForms(writable.except, realOf) };
    this.#names = new ForbiddenNames(this.workspaceDir, options.forbiddenFiles, matcherOf);
  }

  /**
   * The real path of what a tool names.
   * @throws ToolError, the same one for a path that is forbidden, whether it exists or not.
   */
  resolve(path: string): string {
    if (path.includes("\0")) throw new ToolError("The path holds a NUL character: leave it out.");
    if (!path.isWellFormed()) throw new ToolError(`The path holds half a character: ${JSON.stringify(path)}`);
    const absolute = this.absolute(path);
    const moved = movedPlace(this.options.places, absolute);
    if (moved !== undefined) throw leadsElsewhere(path, moved);
    const followed = Buffer.byteLength(absolute) > maxPathBytes ? "too long" : followLinks(absolute);
    if (typeof followed === "string") throw notFollowed(path, followed);
    if (this.#forbids(followed)) throw this.#notAllowed(path, this.#firstPattern(followed.visited));
    return followed.real;
  }

  /** As `resolve`, of what is to be changed or made. */
  resolveForWriting(path: string): string {
    const real = this.resolve(path);
    if (this.#writable === undefined) return real;
    const { roots, except } = this.#writable;
    // What may be written has exactly these names; what may not, every name that some file system takes for them, and
    // every place where it was or is.
    const name = foldedPath(real);
    const now = (this.options.writable?.except ?? []).map((path) => foldedPath(realOf(path)));
    if (!roots.some((root) => isInside(root, real)) || [...except, ...now].some((path) => isInside(path, name))) {
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
    return this.#names.patternOfLast(realPath) !== undefined || this.#forbidsRootName(realPath);
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
    const names = new Set(realPath === undefined ? [] : [realPath, realPath.replace(/ \(deleted\)$/, "")]);
    for (const name of names) {
      const pattern = this.#names.patternOf(name);
      if (pattern !== undefined || this.#forbidsPlace(name)) throw this.#notAllowed(path, pattern);
    }
    const identity = identityKey(stats);
    if (identities.hasRoot(identity) || identities.hasNamed(identity)) throw this.#notAllowed(path);
    if (stats.nlink > 1n && identities.hasLinked(identity)) throw this.#notAllowed(path);
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
    const isClosed = (directory: string): boolean => !this.#allowedRoots.includes(foldedPath(directory));
    yield* filesBelow(this.options.forbiddenPaths, isClosed);
    if (this.#names.isEmpty) return;
    const forbidden = new Set<string>();
    const isForbidden = (path: string): boolean =>
      forbidden.has(dirname(path)) || this.#names.patternOfLast(path) !== undefined;
    const enters = (directory: string): boolean => {
      if (isForbidden(directory)) forbidden.add(directory);
      return true;
    };
    for (const path of filesBelow([this.workspaceDir], enters)) if (isForbidden(path)) yield path;
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
    return visited.some(isProcessFile) || this.#firstPattern(visited) !== undefined || this.#forbidsPlace(real);
  }

  /** @param visited As `followLinks` tells it: every directory above one of them stands before it. */
  #firstPattern(visited: readonly string[]): string | undefined {
    for (const path of visited) {
      const pattern = this.#names.patternOfLast(path);
      if (pattern !== undefined) return pattern;
    }
    return undefined;
  }

  #forbidsPlace(real: string): boolean {
    return this.#forbidsRootName(real) || this.#forbidsRootIdentity(real);
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

  /** @param pattern Named where there is one: where the Coxswain home lies, and what a hard link leads to, is not told. */
  #notAllowed(path: string, pattern?: string): ToolError {
    const words = pattern === undefined ? "" : `: the project's forbidden_files forbid ${JSON.stringify(pattern)}`;
    return new ToolError(`Access to ${JSON.stringify(path)} is not allowed${words}.`);
  }
}

function notFollowed(path: string, problem: LinkProblem): ToolError {
  if (problem === "circle") return new ToolError(`The links of this path go in a circle: ${path}`);
  if (problem === "too long") {
    return new ToolError(`The path has or leads to more than ${maxPathBytes} bytes, which no system takes.`);
  }
  const words = `The path has more than ${maxSteps} steps, those of its links included`;
  return new ToolError(`${words}: give the one that it leads to, without links and "..". It was: ${path}`);
}

function leadsElsewhere(path: string, { name, was }: MovedPlace): ToolError {
  const words = `${name} leads elsewhere than when this Session began (to ${was}): somebody put a link there since`;
  return new ToolError(
    `Access to ${JSON.stringify(path)} is not allowed: ${words}. Put it back, or begin a new Session.`,
  );
}

/** As it is written, and without links. */
function bothForms(paths: readonly string[], placeOf: (path: string) => string): string[] {
  return paths.flatMap((path) => [resolve(path), placeOf(path)]).map(foldedPath);
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
