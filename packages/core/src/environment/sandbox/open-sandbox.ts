/** Makes ready what stands around the commands of a Session, and tries it before the first of them. */
import { realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isInside } from "../../shared/is-inside.ts";
import { ensurePrivateDirectory } from "../../shared/private-directory.ts";
import { realPathOf } from "../../shared/real-path.ts";
import type { CommandSandbox } from "../command/command-sandbox.ts";
import { type Architecture, architectures } from "./architectures.ts";
import type { BubblewrapSettings } from "./bubblewrap-sandbox.ts";
import { findProgram, programDirectories } from "./find-program.ts";
import { personalConfigurations } from "./git-configuration.ts";
import { hiddenPlaces } from "./hidden-places.ts";
import { readMountTable, withAliases } from "./mount-aliases.ts";
import { ownInstallation } from "./own-installation.ts";
import { obeyedNames, protectedFiles } from "./repositories.ts";
import { SandboxError } from "./sandbox-error.ts";
import { otherwise, tried } from "./sandbox-trial.ts";
import { maxShown, screensAround } from "./screens.ts";
import { socketFilter } from "./socket-filter.ts";

export type SandboxLevel = "workspace" | "strict";

export interface SandboxOptions {
  level: SandboxLevel;
  /** Absolute, as are all paths here; exists. */
  workspaceDir: string;
  /** Made unless it is there. Can be read within what is hidden. */
  scratchpadDir: string;
  /** Hidden beside what is hidden anyway. */
  hiddenPaths: readonly string[];
  /** Where programs are looked for. Default: the usual places, and those of `PATH`. */
  programDirs?: readonly string[] | undefined;
  /** Default: this machine's. */
  platform?: string | undefined;
  architecture?: string | undefined;
}

export interface OpenedSandbox {
  commands: CommandSandbox;
  /** What commands do not see, whether it exists or not. */
  hiddenPaths: string[];
  /** Where alone commands write; tools that run outside of the sandbox should keep to it. */
  writable: { roots: string[]; except: string[] };
  /** What is weaker than one may think, one line each. */
  warnings: string[];
}

const howToInstall =
  "install it (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap; Alpine: apk add bubblewrap)";

/** @throws SandboxError when there is none, or it does not work here; UnsafePathError for the scratchpad. */
export async function openSandbox(options: SandboxOptions): Promise<OpenedSandbox> {
  const { level, platform = process.platform, programDirs = programDirectories(process.env["PATH"]) } = options;
  if (platform !== "linux")
    throw new SandboxError(`a sandbox is to be had on Linux only, not on ${platform}: set sandbox = "off"`);
  const workspaceDir = realpathSync(options.workspaceDir);
  const program = bubblewrap(programDirs, workspaceDir);
  const filtered = level === "strict" ? knownArchitecture(options.architecture ?? process.arch) : undefined;
  const homeDirs = personalDirectories();
  const places = hiddenPlaces(homeDirs);
  const mountTable = readMountTable();
  const screenedPaths = withAliases(places.screened, mountTable);
  const hiddenPaths = withAliases([...options.hiddenPaths, ...places.screened, ...places.others], mountTable);
  const hiding = hiddenPaths.find((path) => realPathOf(path) === workspaceDir);
  if (hiding !== undefined)
    throw new SandboxError(`commands cannot see ${hiding}, which is the Workspace: choose another one`);
  const repositories = await protectedFiles(workspaceDir, {
    homeDirs,
    configurations: personalConfigurations(homeDirs),
  });
  const installation = ownInstallation(fileURLToPath(import.meta.url), process.execPath, workspaceDir);
  const protectedPaths = [...repositories.paths, ...installation.paths];
  const settings: BubblewrapSettings = {
    ...ownFiles(options.scratchpadDir, filtered),
    program,
    isStrict: level === "strict",
    workspaceDir,
    hiddenPaths,
    screenedPaths,
    protectedPaths,
    canDisableNamespaces: true,
    isSuperuser: process.getuid?.() === 0,
  };
  const commands = await tried(settings);
  const exposed = homeDirs.find((home) => isInside(workspaceDir, home));
  const warnings = [...repositories.warnings, ...installation.warnings];
  for (const directory of screensAround(screenedPaths).cut) {
    warnings.push(
      `commands see only a part of ${directory}: it, and what else holds hidden files, has more than ${maxShown} entries`,
    );
  }
  if (exposed !== undefined) {
    warnings.push(
      `the Workspace holds ${exposed}: commands can change what runs when you log in; choose a directory below it`,
    );
  }
  const ownGit = obeyedNames.map((name) => join(workspaceDir, ".git", name));
  const writable = { roots: [workspaceDir, settings.temporaryDir], except: [...protectedPaths, ...ownGit] };
  return { commands, hiddenPaths, writable, warnings };
}

/** What every program here is made of: where a command can write to it, there is no outside. */
const systemPlaces = ["/bin/sh", "/bin/bash", "/lib", "/lib64", "/usr/lib", "/etc"];

/** @throws SandboxError */
function bubblewrap(programDirs: readonly string[], workspaceDir: string): string {
  const program = findProgram("bwrap", programDirs, [workspaceDir]);
  const exposed = [findProgram("bwrap", programDirs, []), ...systemPlaces].find(
    (path) => path !== undefined && isInside(workspaceDir, realPathOf(path)),
  );
  if (exposed !== undefined) {
    const problem = `the Workspace is ${workspaceDir}, where commands could change ${exposed} and so what runs outside`;
    throw new SandboxError(`${problem}: choose a directory that holds nothing of the system, ${otherwise}`);
  }
  if (program !== undefined) return program;
  throw new SandboxError(
    `it needs bubblewrap, and there is no program bwrap on this machine: ${howToInstall}, ${otherwise}`,
  );
}

function personalDirectories(): string[] {
  const named = [homedir()];
  try {
    named.push(userInfo().homedir);
  } catch {
    // An account without an entry: there is only what the environment says.
  }
  return [...new Set(named.filter((home) => home.startsWith("/") && home !== "/").map(realPathOf))];
}

type OwnFiles = Pick<BubblewrapSettings, "scratchpadDir" | "privateDir" | "temporaryDir" | "emptyFile" | "filter">;

/** Neither commands nor file tools can change them: within, only the directory for temporary files can be written to. */
function ownFiles(scratchpadDir: string, filtered: Architecture | undefined): OwnFiles {
  ensurePrivateDirectory(scratchpadDir, true);
  const real = realpathSync(scratchpadDir);
  const [temporaryDir, privateDir] = [join(real, "tmp"), join(real, "private")];
  for (const directory of [temporaryDir, privateDir]) ensurePrivateDirectory(directory, false);
  return {
    scratchpadDir: real,
    privateDir,
    temporaryDir,
    emptyFile: writeOwn(join(real, "empty")),
    filter: filtered && socketFilter(filtered),
  };
}

/** Whatever was there is not written through. */
function writeOwn(path: string): string {
  rmSync(path, { force: true });
  writeFileSync(path, "", { mode: 0o400, flag: "wx" });
  return path;
}

function knownArchitecture(name: string): Architecture {
  const known = architectures[name];
  if (known !== undefined) return known;
  const names = Object.keys(architectures).join(" and ");
  throw new SandboxError(`"strict" is to be had on ${names} only, not on ${name}: set sandbox = "workspace"`);
}
