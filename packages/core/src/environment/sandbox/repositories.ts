/** What git runs or obeys in the repositories of a Workspace: a command that could change it would run outside later. */
import { type Dirent, lstatSync, mkdirSync, readdirSync, realpathSync, writeFileSync } from "node:fs";
import { readdir } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { hasWorktreeConfiguration, includedFiles, textOf } from "./git-configuration.ts";
import { isThere, makeMissing } from "./made-places.ts";
import { isInside } from "../../shared/is-inside.ts";

export interface ProtectedFiles {
  /** Absolute paths that must not change, with all below them. */
  paths: string[];
  /** What cannot be protected, in words for the person who asked for a sandbox. */
  warnings: string[];
}

/** Enough for what people keep; each repository costs every command some mounts. */
const maxRepositories = 32;
const maxDirectories = 4000;
const maxDepth = 8;
/** What git runs, obeys or is led by in its directory. */
export const obeyedNames = ["hooks", "config", "config.worktree", "commondir", "gitdir"];
const notLookedInto = new Set(["node_modules", "objects", ".venv", "__pycache__"]);

/** A person's own configuration, which may lie in the Workspace or include what does. */
export interface PersonalGit {
  homeDirs: readonly string[];
  configurations: readonly string[];
}

/**
 * Those that are there now: what a command makes later is as good as everything else that it writes. A missing hooks
 * directory or configuration is made, for what is not there cannot be protected.
 *
 * @param workspaceDir A real path.
 */
export async function protectedFiles(
  workspaceDir: string,
  { homeDirs, configurations }: PersonalGit = { homeDirs: [], configurations: [] },
): Promise<ProtectedFiles> {
  const found = await gitDirectories(workspaceDir);
  const isInWorkspace = (path: string): boolean => isInside(workspaceDir, placeOf(path));
  const own = configurations.filter(isThere);
  const obeyed = new Set(own);
  for (const file of [...own, ...found.paths.filter((path) => /\/config(?:\.worktree)?$/.test(path))]) {
    for (const included of includedFiles(file, homeDirs)) obeyed.add(included);
  }
  for (const path of obeyed) {
    if (!isInWorkspace(path)) continue;
    makeMissing(() => writeFileSync(path, "", { flag: "wx" }));
    const real = placeOf(path);
    if (!isThere(real)) found.warnings.push(`git obeys ${path} once it is there: commands can make it`);
    else if (!found.paths.includes(real)) found.paths.push(real);
    if (isInside(workspaceDir, path) && real !== path) {
      found.warnings.push(`${path} is reached by a link: commands can put another configuration of git into its place`);
    }
  }
  return found;
}

async function gitDirectories(workspaceDir: string): Promise<ProtectedFiles> {
  const found: ProtectedFiles = { paths: [], warnings: [] };
  let level = [workspaceDir];
  let directories = 0;
  let repositories = 0;
  for (let depth = 0; depth <= maxDepth && level.length > 0; depth++) {
    const below: string[] = [];
    for (const directory of level) {
      if (++directories > maxDirectories || repositories > maxRepositories) {
        const limit =
          repositories > maxRepositories ? `${maxRepositories} repositories` : `${maxDirectories} directories`;
        found.warnings.push(
          `${workspaceDir} holds more than ${limit}: hooks and configuration of deeper repositories can be changed by commands`,
        );
        return found;
      }
      const entries = await readdir(directory, { withFileTypes: true }).catch((): Dirent[] => []);
      if (isGitDirectory(entries)) {
        repositories++;
        protectGitDirectory(directory, found);
      }
      protectPointer(directory, entries, found);
      for (const entry of entries) {
        const path = join(directory, entry.name);
        if (!entry.isDirectory()) continue;
        if (!notLookedInto.has(entry.name)) below.push(path);
        else if (entry.name === "node_modules") below.push(...packagesWithRepository(path));
      }
    }
    level = below;
  }
  return found;
}

/** The packages are too many to be looked into, but few bring a repository. */
function packagesWithRepository(modulesDir: string): string[] {
  const names = namesIn(modulesDir).flatMap((name) =>
    name.startsWith("@") ? namesIn(join(modulesDir, name)).map((inner) => join(name, inner)) : [name],
  );
  return names.map((name) => join(modulesDir, name)).filter((path) => isThere(join(path, ".git")));
}

function namesIn(directory: string): string[] {
  try {
    const entries = readdirSync(directory, { withFileTypes: true });
    return entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  } catch {
    return [];
  }
}

/** Also of a bare repository, a submodule or a worktree. */
function isGitDirectory(entries: readonly Dirent[]): boolean {
  const names = new Set(entries.map(({ name }) => name));
  return names.has("HEAD") && ((names.has("objects") && names.has("refs")) || names.has("commondir"));
}

function protectGitDirectory(directory: string, found: ProtectedFiles): void {
  // A worktree has its hooks and its configuration where its repository is, and says where that is.
  const isRedirected = isThere(join(directory, "commondir"));
  if (isRedirected && !isThere(join(directory, "gitdir"))) {
    found.warnings.push(
      `${join(directory, "commondir")} makes git obey another configuration, and this is no worktree: remove it unless you know it`,
    );
  }
  if (!isRedirected) {
    makeMissing(() => mkdirSync(join(directory, "hooks")));
    makeMissing(() => writeFileSync(join(directory, "config"), "", { flag: "wx" }));
  }
  const commonDir = isRedirected ? resolve(directory, textOf(join(directory, "commondir")).trim()) : directory;
  if (hasWorktreeConfiguration(join(commonDir, "config"))) {
    makeMissing(() => writeFileSync(join(directory, "config.worktree"), "", { flag: "wx" }));
  }
  for (const name of obeyedNames) {
    const path = join(directory, name);
    if (!isThere(path)) continue;
    if (isLink(path)) found.warnings.push(`${path} is a link: commands can put something else into its place`);
    else found.paths.push(path);
  }
}

/** A `.git` that only says where the repository is. */
function protectPointer(directory: string, entries: readonly Dirent[], found: ProtectedFiles): void {
  const pointer = entries.find(({ name }) => name === ".git");
  if (pointer === undefined || pointer.isDirectory()) return;
  const path = join(directory, pointer.name);
  if (pointer.isFile()) found.paths.push(path);
  else found.warnings.push(`${path} is a link: commands can put another repository into its place`);
}

/** Where a path leads, or would if its last step were there. */
function placeOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return dirname(path) === path ? path : join(placeOf(dirname(path)), basename(path));
  }
}

function isLink(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true;
}
