/** What a command finds at which path, as layers: the deepest one around a path says what is there. Pure. */
import { dirname, join, relative, sep } from "node:path";
import { isInside } from "../../shared/is-inside.ts";

export interface Mount {
  /** Absolute and real: no link on the way. */
  at: string;
  /**
   * `nothing`: an empty directory or file is in its place. `screen`: a directory of ours, in which there is only what it
   * shows. `link`: a link that leads to `from`.
   */
  kind: "read" | "write" | "nothing" | "screen" | "link";
  /** Where the files really are. Default: the same path. */
  from?: string | undefined;
  isFile?: boolean | undefined;
  /** What a screen shows of what is there: each a mount of its own. */
  shows?: ReadonlySet<string> | undefined;
  /** One of those. It may be gone before it is mounted. */
  isShown?: boolean | undefined;
}

/**
 * In the order in which they are mounted. The last of several at one path counts.
 *
 * A directory with a mount deep within it could be renamed, and another one put into its place; a mount itself cannot.
 * So every directory between a writable layer and a mount in it becomes a mount of its own.
 */
export function layersOf(wanted: readonly Mount[]): Mount[] {
  const layers: Mount[] = [];
  const ofPath = new Map(wanted.map((mount) => [mount.at, mount]));
  for (const mount of [...ofPath.values()].sort((a, b) => depthOf(a.at) - depthOf(b.at))) {
    const around = layerAround(layers, dirname(mount.at));
    if (mount.kind === "nothing" && around !== undefined && isEmptyThere(around)) continue;
    if (mount.kind === "screen" && !isScreenedThere(around, mount.at)) continue;
    if (mount.isShown === true && (around?.kind !== "screen" || around.at !== dirname(mount.at))) continue;
    if (around?.kind === "write" && mount.at !== around.at) layers.push(...pinsBetween(around, mount.at));
    layers.push(mount);
  }
  return layers;
}

/** The layer that says what is at the path. */
export function layerAround(layers: readonly Mount[], path: string): Mount | undefined {
  let found: Mount | undefined;
  for (const layer of layers) {
    if (isInside(layer.at, path) && (found === undefined || layer.at.length >= found.at.length)) found = layer;
  }
  return found;
}

/**
 * What hides or keeps a single place within what commands can write to, and single files elsewhere that no screen hides.
 * Such a mount is gone as soon as somebody outside puts something else into its place.
 */
export function looseMounts(layers: readonly Mount[]): string[] {
  const isLoose = ({ at, kind, isFile }: Mount): boolean => {
    const around = layerAround(layers, dirname(at));
    if (kind === "write" || around?.from !== undefined) return false;
    return around?.kind === "write" || (around?.kind === "read" && kind === "nothing" && isFile === true);
  };
  return layers.filter(isLoose).map(({ at }) => at);
}

/** The path outside of the sandbox. */
export function outsidePath(layer: Mount, path: string): string {
  return layer.from === undefined ? path : join(layer.from, relative(layer.at, path));
}

/** Nothing of the host is there that would have to be hidden. */
function isEmptyThere(layer: Mount): boolean {
  return layer.kind === "nothing" || layer.kind === "screen" || layer.from !== undefined;
}

/** What commands can write to is no screen: what they make has to be on the host. */
function isScreenedThere(around: Mount | undefined, path: string): boolean {
  if (around?.kind === "screen") return around.shows?.has(path) === true;
  return around?.kind === "read" && around.from === undefined;
}

function pinsBetween(around: Mount, path: string): Mount[] {
  const pins: Mount[] = [];
  for (let at = dirname(path); at !== around.at && isInside(around.at, at); at = dirname(at)) {
    pins.unshift({ at, kind: "write", from: around.from === undefined ? undefined : outsidePath(around, at) });
  }
  return pins;
}

function depthOf(path: string): number {
  return path === sep ? 0 : path.split(sep).length;
}
