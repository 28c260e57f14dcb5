/** Where Coxswain itself lies in the Workspace: a command that changes it would run outside, by the next thing that we load. */
import { mkdirSync, readdirSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { isInside } from "../../shared/is-inside.ts";
import { realPathOf } from "../../shared/real-path.ts";
import { isThere, makeMissing } from "./made-places.ts";
import type { ProtectedFiles } from "./repositories.ts";

const packageScope = "@coxswain";

/**
 * Our code, and all directories in which its packages are looked for; a missing one below such a directory is made, for a
 * package that is put there would be taken first.
 *
 * @param code A file of ours.
 * @param program What runs it.
 * @param workspaceDir A real path.
 */
export function ownInstallation(code: string, program: string, workspaceDir: string): ProtectedFiles {
  const found = new Set([realPathOf(program)].filter((path) => isInside(workspaceDir, path)));
  if (isInside(workspaceDir, realPathOf(code))) protectCode(realPathOf(code), workspaceDir, found);
  const paths = [...found].filter((path) => ![...found].some((other) => other !== path && isInside(other, path)));
  if (paths.length === 0) return { paths, warnings: [] };
  const warning = `Coxswain runs from within the Workspace, so commands and file tools cannot change ${paths.join(", ")}: install it elsewhere if they have to`;
  return { paths, warnings: [warning] };
}

function protectCode(file: string, workspaceDir: string, found: Set<string>): void {
  const packageDir = packageAround(file, workspaceDir);
  const [codeName = ""] = relative(packageDir, file).split(sep);
  const modules = moduleDirectories(packageDir, workspaceDir);
  const siblings = modules.flatMap((directory) => linkedPackages(join(directory, packageScope), workspaceDir));
  for (const directory of [packageDir, ...siblings]) {
    for (const path of [join(directory, codeName), join(directory, "package.json")]) if (isThere(path)) found.add(path);
  }
  for (const path of modules) found.add(path);
}

/** The nearest directory with a manifest. */
function packageAround(file: string, workspaceDir: string): string {
  for (let directory = dirname(file); isInside(workspaceDir, directory); directory = dirname(directory)) {
    if (isThere(join(directory, "package.json"))) return directory;
    if (directory === workspaceDir) break;
  }
  return dirname(file);
}

/** From the uppermost that is there down to the package. */
function moduleDirectories(packageDir: string, workspaceDir: string): string[] {
  const around: string[] = [];
  for (let directory = packageDir; isInside(workspaceDir, directory); directory = dirname(directory)) {
    around.unshift(directory);
    if (directory === workspaceDir) break;
  }
  const uppermost = around.findIndex((directory) => isThere(join(directory, "node_modules")));
  if (uppermost === -1) return [];
  const modules: string[] = [];
  for (const directory of around.slice(uppermost)) {
    if (modules.some((path) => isInside(path, directory))) break;
    const path = join(directory, "node_modules");
    makeMissing(() => mkdirSync(path));
    if (isThere(path)) modules.push(path);
  }
  return modules;
}

/** Packages of ours that lie elsewhere in the Workspace, as in our own repository. */
function linkedPackages(scopeDir: string, workspaceDir: string): string[] {
  try {
    const packages = readdirSync(scopeDir).map((name) => realPathOf(join(scopeDir, name)));
    return packages.filter((path) => isInside(workspaceDir, path) && !isInside(dirname(scopeDir), path));
  } catch {
    return [];
  }
}
