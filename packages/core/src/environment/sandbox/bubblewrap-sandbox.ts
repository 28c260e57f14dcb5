/** A wall around each command, built by bubblewrap. */
import { lstatSync, mkdirSync, realpathSync, statSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import type { CommandSandbox } from "../command/command-sandbox.ts";
import { ToolError } from "../tool-error.ts";
import { hostVariables } from "./hidden-places.ts";
import { layerAround, layersOf, type Mount, outsidePath } from "./mounts.ts";

export interface BubblewrapSettings {
  /** Absolute path of `bwrap`. */
  program: string;
  /** No network, and no socket of the host. */
  isStrict: boolean;
  /** A real path, as all that follow. */
  workspaceDir: string;
  /** This Session's own, readable. */
  scratchpadDir: string;
  /** What is `/tmp` to commands: kept from one to the next. */
  temporaryDir: string;
  /** An empty file, shown in place of what is hidden. */
  emptyFile: string;
  /** Whatever is or comes to be there is hidden. */
  hiddenPaths: readonly string[];
  /** Parts of the Workspace that can only be read. */
  protectedPaths: readonly string[];
  /** Whether this bubblewrap can keep commands from making user namespaces of their own. */
  canDisableNamespaces: boolean;
  /** With a program for the kernel that filters calls; opened for each command. */
  filterFile: string | undefined;
}

/** Where the kernel of the host is set. */
const kernelSettings = ["sys", "sysrq-trigger", "irq", "bus", "acpi", "fs", "scsi", "driver", "mtrr", "timer_list"].map(
  (name) => `/proc/${name}`,
);

/** The number under which bubblewrap gets the filter. */
const filterDescriptor = 9;

export class BubblewrapSandbox implements CommandSandbox {
  readonly #settings: BubblewrapSettings;

  constructor(settings: BubblewrapSettings) {
    this.#settings = settings;
  }

  /** @throws ToolError when the directory is not there for a command. */
  wrap(argv: readonly string[], workdir: string): readonly string[] {
    const layers = layersOf(wantedMounts(this.#settings));
    makeMountPoints(layers);
    checkWorkdir(layers, workdir);
    const { program, filterFile } = this.#settings;
    const started = [program, ...bubblewrapArguments(this.#settings, layers, workdir), "--", ...argv];
    if (filterFile === undefined) return started;
    return ["/bin/sh", "-c", `exec "$@" ${filterDescriptor}<"$0"`, filterFile, ...started];
  }
}

/** Pure. */
export function bubblewrapArguments(
  { isStrict, canDisableNamespaces, filterFile, emptyFile }: BubblewrapSettings,
  layers: readonly Mount[],
  workdir: string,
): string[] {
  const [root, ...others] = layers;
  if (root?.at !== sep) throw new Error(`The lowest layer is at ${root?.at ?? "no path"}, but must be at /.`);
  const emptyDirs = others.filter(({ kind, isFile }) => kind === "nothing" && isFile !== true);
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
    ...(filterFile === undefined ? [] : ["--seccomp", String(filterDescriptor)]),
    ...mountArguments(root, emptyFile),
    "--dev",
    "/dev",
    "--proc",
    "/proc",
    // Files of the superuser there are his without any power; bubblewrap itself covers some of them.
    ...kernelSettings.flatMap((path) => ["--ro-bind-try", path, path]),
    ...others.flatMap((layer) => mountArguments(layer, emptyFile)),
    ...emptyDirs.flatMap(({ at }) => ["--remount-ro", at]),
    ...variableArguments(),
    "--chdir",
    workdir,
  ];
}

function mountArguments({ at, kind, from, isFile }: Mount, emptyFile: string): string[] {
  switch (kind) {
    case "write":
      return ["--bind", from ?? at, at];
    case "read":
      return ["--ro-bind", from ?? at, at];
    case "nothing":
      return isFile === true ? ["--ro-bind", emptyFile, at] : ["--perms", "0700", "--tmpfs", at];
  }
}

/** A home that cannot be written to has no place for caches. */
function variableArguments(): string[] {
  const set = { TMPDIR: "/tmp", XDG_CACHE_HOME: "/tmp/.cache", npm_config_cache: "/tmp/.npm" };
  return [
    ...Object.entries(set).flatMap(([name, value]) => ["--setenv", name, value]),
    ...["TMP", "TEMP", ...hostVariables].flatMap((name) => ["--unsetenv", name]),
  ];
}

function wantedMounts(settings: BubblewrapSettings): Mount[] {
  const { isStrict, workspaceDir, scratchpadDir, temporaryDir, hiddenPaths, protectedPaths } = settings;
  return [
    { at: sep, kind: "read" },
    ...["/tmp", "/var/tmp"]
      .flatMap((path) => existing(path, "write"))
      .map((mount) => ({ ...mount, from: temporaryDir })),
    { at: workspaceDir, kind: "write" },
    ...hiddenPaths.flatMap((path) => existing(path, "nothing")),
    { at: scratchpadDir, kind: "read" },
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
    return stats === undefined ? [] : [{ at: realpathSync.native(path), kind, isFile: !stats.isDirectory() }];
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
  if (layer?.kind !== "nothing" && (layer?.from === undefined || isDirectory(outsidePath(layer, workdir)))) return;
  throw new ToolError(
    `\`workdir\` is not there in the sandbox: ${workdir}. Start in the Workspace; /tmp holds only what commands of this session have put there.`,
  );
}

function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}
