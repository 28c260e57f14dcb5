/** Makes ready what stands around the commands of a Session, and tries it before the first of them. */
import { execFile } from "node:child_process";
import { accessSync, constants, realpathSync, rmSync, writeFileSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import { join } from "node:path";
import { ensurePrivateDirectory } from "../../shared/private-directory.ts";
import type { CommandSandbox } from "../command/command-sandbox.ts";
import { type Architecture, architectures } from "./architectures.ts";
import { BubblewrapSandbox, type BubblewrapSettings } from "./bubblewrap-sandbox.ts";
import { findProgram, programDirectories } from "./find-program.ts";
import { hiddenPlaces } from "./hidden-places.ts";
import { isWithin } from "./mounts.ts";
import { protectedFiles } from "./repositories.ts";
import { SandboxError } from "./sandbox-error.ts";
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

const trialTimeoutMs = 20_000;
const howToInstall =
  "install it (Debian, Ubuntu: apt-get install bubblewrap; Fedora: dnf install bubblewrap; Arch: pacman -S bubblewrap; Alpine: apk add bubblewrap)";
const otherwise = 'or set sandbox = "off"; commands can then read and do whatever you can';

/** @throws SandboxError when there is none, or it does not work here; UnsafePathError for the scratchpad. */
export async function openSandbox(options: SandboxOptions): Promise<OpenedSandbox> {
  const { level, platform = process.platform, programDirs = programDirectories(process.env["PATH"]) } = options;
  if (platform !== "linux")
    throw new SandboxError(`a sandbox is to be had on Linux only, not on ${platform}: set sandbox = "off"`);
  const workspaceDir = realpathSync(options.workspaceDir);
  const program = findProgram("bwrap", programDirs, workspaceDir);
  if (program === undefined) {
    throw new SandboxError(
      `it needs bubblewrap, and there is no program bwrap on this machine: ${howToInstall}, ${otherwise}`,
    );
  }
  const filtered = level === "strict" ? knownArchitecture(options.architecture ?? process.arch) : undefined;
  const homeDirs = personalDirectories();
  const hiddenPaths = [...options.hiddenPaths, ...hiddenPlaces(homeDirs)];
  const hiding = hiddenPaths.find((path) => realOf(path) === workspaceDir);
  if (hiding !== undefined)
    throw new SandboxError(`commands cannot see ${hiding}, which is the Workspace: choose another one`);
  const repositories = await protectedFiles(workspaceDir);
  const settings: BubblewrapSettings = {
    ...ownFiles(options.scratchpadDir, filtered),
    program,
    isStrict: level === "strict",
    workspaceDir,
    hiddenPaths,
    protectedPaths: repositories.paths,
    canDisableNamespaces: true,
  };
  const commands = await tried(settings);
  const exposed = homeDirs.find((home) => isWithin(home, workspaceDir));
  const warnings = [...repositories.warnings];
  if (exposed !== undefined) {
    warnings.push(
      `the Workspace holds ${exposed}: commands can change what runs when you log in; choose a directory below it`,
    );
  }
  const ownGit = ["hooks", "config", "commondir"].map((name) => join(workspaceDir, ".git", name));
  const writable = { roots: [workspaceDir, settings.temporaryDir], except: [...repositories.paths, ...ownGit] };
  return { commands, hiddenPaths, writable, warnings };
}

function personalDirectories(): string[] {
  const named = [homedir()];
  try {
    named.push(userInfo().homedir);
  } catch {
    // An account without an entry: there is only what the environment says.
  }
  return [...new Set(named.filter((home) => home.startsWith("/") && home !== "/").map(realOf))];
}

type OwnFiles = Pick<BubblewrapSettings, "scratchpadDir" | "temporaryDir" | "emptyFile" | "filterFile">;

/** Neither commands nor file tools can change them: within, only the directory for temporary files can be written to. */
function ownFiles(scratchpadDir: string, filtered: Architecture | undefined): OwnFiles {
  ensurePrivateDirectory(scratchpadDir, true);
  const real = realpathSync(scratchpadDir);
  const temporaryDir = join(real, "tmp");
  ensurePrivateDirectory(temporaryDir, false);
  return {
    scratchpadDir: real,
    temporaryDir,
    emptyFile: writeOwn(join(real, "empty"), ""),
    filterFile: filtered && writeOwn(join(real, "socket-filter"), socketFilter(filtered)),
  };
}

/** Whatever was there is not written through. */
function writeOwn(path: string, content: string | Buffer): string {
  rmSync(path, { force: true });
  writeFileSync(path, content, { mode: 0o400, flag: "wx" });
  return path;
}

function knownArchitecture(name: string): Architecture {
  const known = architectures[name];
  if (known !== undefined) return known;
  const names = Object.keys(architectures).join(" and ");
  throw new SandboxError(`"strict" is to be had on ${names} only, not on ${name}: set sandbox = "workspace"`);
}

/** An older bubblewrap cannot take the making of user namespaces away; the walls hold without that too. */
async function tried(settings: BubblewrapSettings): Promise<CommandSandbox> {
  const best = new BubblewrapSandbox(settings);
  if ((await trial(best, settings)) === undefined) return best;
  const older = new BubblewrapSandbox({ ...settings, canDisableNamespaces: false });
  const problem = await trial(older, settings);
  if (problem === undefined) return older;
  throw new SandboxError(`${settings.program} does not work here: ${problem}; ${adviceFor(problem)}, ${otherwise}`);
}

const readOnly = "the Workspace cannot be written to from within";

/** Says what went wrong. */
function trial(sandbox: CommandSandbox, { workspaceDir }: BubblewrapSettings): Promise<string | undefined> {
  const test = isWritable(workspaceDir) ? `test -w "$0" || { echo "${readOnly}" >&2; exit 1; }` : "true";
  const [program = "", ...args] = sandbox.wrap(["/bin/sh", "-c", test, workspaceDir], workspaceDir);
  return new Promise((resolve) => {
    execFile(program, args, { timeout: trialTimeoutMs, env: {} }, (error, _, stderr) => {
      if (error === null) resolve(undefined);
      else
        resolve(
          stderr
            .trim()
            .split("\n")[0]
            ?.replace(/^bwrap: /, "") || `it ended with ${error.code ?? error.signal}`,
        );
    });
  });
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

function adviceFor(problem: string): string {
  if (problem === readOnly) {
    return "it belongs to another user, over whose files even the superuser has no power in the sandbox: run as that user, or change its owner";
  }
  if (/unknown option/i.test(problem)) return "this bubblewrap is too old: it must be 0.4 or newer";
  return (
    "it needs user namespaces: allow them (sysctl kernel.unprivileged_userns_clone=1 where there is such a setting; on Ubuntu 24.04 and later " +
    "kernel.apparmor_restrict_unprivileged_userns=0, or a profile for bwrap; in a container --security-opt seccomp=unconfined and " +
    "--security-opt systempaths=unconfined)"
  );
}

function realOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
