/** A wall around each command, built by bubblewrap. */
import { lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { CommandSandbox, Launch } from "../command/command-sandbox.ts";
import { ToolError } from "../tool-error.ts";
import { hostVariables } from "./hidden-places.ts";
import { layerAround, layersOf, type Mount, outsidePath, looseMounts } from "./mounts.ts";
import { screensAround } from "./screens.ts";

export interface BubblewrapSettings {
  /** Absolute path of `bwrap`. */
  program: string;
  /** No network, and no socket of the host. */
  isStrict: boolean;
  /** A real path, as all that follow. */
  workspaceDir: string;
  /** This Session's own, readable. */
  scratchpadDir: string;
  /** For what lies around commands: hidden from them. */
  privateDir: string;
  /** What is `/tmp` to commands: kept from one to the next. */
  temporaryDir: string;
  /** An empty file, shown in place of what is hidden. */
  emptyFile: string;
  /** Whatever is or comes to be there is hidden. */
  hiddenPaths: readonly string[];
  /** Those of them that stay hidden although they are replaced, or come to be while a command runs. */
  screenedPaths: readonly string[];
  /** Parts of the Workspace that can only be read. */
  protectedPaths: readonly string[];
  /** Whether this bubblewrap can keep commands from making user namespaces of their own. */
  canDisableNamespaces: boolean;
  /** A program for the kernel that filters calls. */
  filter: Buffer | undefined;
  /** Files of the kernel are his without any power, for he owns them. */
  isSuperuser: boolean;
}

/** The numbers under which bubblewrap gets what it is handed. */
const argumentsDescriptor = 3;
const filterDescriptor = 4;

export class BubblewrapSandbox implements CommandSandbox {
  readonly #settings: BubblewrapSettings;

  constructor(settings: BubblewrapSettings) {
    this.#settings = settings;
  }

  get privateDir(): string {
    return this.#settings.privateDir;
  }

  get writableDirs(): string[] {
    return [this.#settings.workspaceDir, this.#settings.temporaryDir];
  }

  /**
   * What bubblewrap itself loads and runs depends on nothing that a command can write: it starts at the root without the
   * command's variables. They are handed to it, for everybody on this machine can read arguments.
   *
   * @throws ToolError when the directory is not there for a command.
   */
  wrap({ argv, workdir, variables }: Launch): Launch {
    const layers = layersOf(wantedMounts(this.#settings));
    makeMountPoints(layers);
    checkWorkdir(layers, workdir);
    const { program, filter } = this.#settings;
    const told = [...bubblewrapArguments(this.#settings, layers, workdir), ...variableArguments(variables)];
    return {
      argv: [program, "--args", String(argumentsDescriptor), "--", ...argv],
      workdir: sep,
      variables: {},
      handed: [
        Buffer.from(told.map((argument) => `${argument}\0`).join("")),
        ...(filter === undefined ? [] : [filter]),
      ],
      keptPlaces: looseMounts(layers),
    };
  }
}

/** Pure. */
export function bubblewrapArguments(
  { isStrict, canDisableNamespaces, filter, emptyFile, isSuperuser }: BubblewrapSettings,
  layers: readonly Mount[],
  workdir: string,
): string[] {
  const [root, ...others] = layers;
  if (root?.at !== sep) throw new Error(`The lowest layer is at ${root?.at ?? "no path"}, but must be at /.`);
  const ownDirs = others.filter(({ kind, isFile }) => kind === "screen" || (kind === "nothing" && isFile !== true));
  return [
    "--unshare-user",
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    ...(isStrict ? ["--unshare-net"] : []),
    ...(canDisableNamespaces ? ["--disable-userns"] : []),
    // The superuser would keep his powers else.
    "--cap-drop",
    "ALL",
    "--new-session",
    "--die-with-parent",
    ...(filter === undefined ? [] : ["--seccomp", String(filterDescriptor)]),
    ...mountArguments(root, emptyFile),
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    ...(isSuperuser ? ["--remount-ro", "/proc"] : []),
    ...others.flatMap((layer) => mountArguments(layer, emptyFile)),
    ...ownDirs.flatMap(({ at }) => ["--remount-ro", at]),
    "--chdir",
    workdir,
  ];
}

function mountArguments({ at, kind, from, isFile, isShown }: Mount, emptyFile: string): string[] {
  switch (kind) {
    case "write":
      return ["--bind", from ?? at, at];
    case "read":
      return [isShown === true ? "--ro-bind-try" : "--ro-bind", from ?? at, at];
    case "nothing":
      return isFile === true ? ["--ro-bind", emptyFile, at] : ["--perms", "0700", "--tmpfs", at];
    case "screen":
      return ["--perms", "0755", "--tmpfs", at];
    case "link":
      return ["--symlink", from ?? at, at];
  }
}

/** A home that cannot be written to has no place for caches. */
const ownVariables = { TMPDIR: "/tmp", XDG_CACHE_HOME: "/tmp/.cache", npm_config_cache: "/tmp/.npm" };
const unsetVariables = new Set<string>(["TMP", "TEMP", ...hostVariables]);

function variableArguments(variables: Launch["variables"]): string[] {
  const kept = Object.entries(variables).filter(([name]) => !unsetVariables.has(name));
  return [...kept, ...Object.entries(ownVariables)].flatMap(([name, value]) => ["--setenv", name, value]);
}

function wantedMounts(settings: BubblewrapSettings): Mount[] {
  const { isStrict, workspaceDir, scratchpadDir, privateDir, temporaryDir, hiddenPaths, protectedPaths } = settings;
  return [
    { at: sep, kind: "read" },
    ...["/tmp", "/var/tmp"]
      .flatMap((path) => existing(path, "write"))
      .map((mount) => ({ ...mount, from: temporaryDir })),
    ...screensAround(settings.screenedPaths).mounts,
    { at: workspaceDir, kind: "write" },
    ...hiddenPaths.flatMap((path) => existing(path, "nothing")),
    { at: scratchpadDir, kind: "read" },
    { at: privateDir, kind: "nothing" },
    // One that has become a link leads to something else.
    ...protectedPaths.flatMap((path) => existing(path, "read").filter(({ at }) => at === path)),
    // Names are looked up where this file says, which may lie in what is hidden.
    ...(isStrict ? [] : existing("/etc/resolv.conf", "read")),
  ];
}

/** A mount where the path leads to, if it leads anywhere. Most places do not exist, and this is asked for each command. */
function existing(path: string, kind: Mount["kind"]): Mount[] {
  try {
    const stats = statSync(path, { throwIfNoEntry: false });
    // A history that leads to /dev/null is common, and a device holds nothing to be hidden.
    if (stats === undefined || stats.isCharacterDevice()) return [];
    return [{ at: realpathSync.native(path), kind, isFile: !stats.isDirectory() }];
  } catch {
    return [];
  }
}

/** In a directory of ours that stands for another one, the mount points are made by us and not through a link. */
function makeMountPoints(layers: readonly Mount[]): void {
  for (const layer of layers) {
    const around = layerAround(layers, dirname(layer.at));
    if (around?.from === undefined || around === layer) continue;
    let path = around.from;
    for (const step of relative(around.at, layer.at).split(sep)) {
      path = join(path, step);
      const entry = lstatSync(path, { throwIfNoEntry: false });
      if (entry === undefined) mkdirSync(path, 0o700);
      else if (!entry.isDirectory()) throw new ToolError(`${path} is in the way of the sandbox: remove it.`);
    }
  }
}

function checkWorkdir(layers: readonly Mount[], workdir: string): void {
  const layer = layerAround(layers, workdir);
  const isHidden = layer?.kind === "nothing" || (layer?.kind === "screen" && layer.at !== workdir);
  if (!isHidden && (layer?.from === undefined || isDirectory(outsidePath(layer, workdir)))) return;
  throw new ToolError(
    `\`workdir\` is not there in the sandbox: ${workdir}. Start in the Workspace; /tmp holds only what commands of this session have put there.`,
  );
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
