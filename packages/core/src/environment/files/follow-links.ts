/** Where a path leads, link by link. */
import { lstatSync, readlinkSync } from "node:fs";
import { isAbsolute, join, parse, sep } from "node:path";

export interface FollowedPath {
  /** Without links, `.` and `..`; what does not exist is taken as it is written. */
  real: string;
  /** Every path that was looked at under way: all that a rule about names must be asked about. */
  visited: string[];
}

const maxLinks = 40;

/**
 * As the system does it: what stands before a `..` is followed first, if it is a link. Synchronous, so that calls for
 * one file keep their order.
 *
 * @param path Absolute.
 * @returns `undefined` when the links go in a circle.
 */
export function followLinks(path: string): FollowedPath | undefined {
  const visited: string[] = [];
  let current = parse(path).root;
  let rest = stepsOf(path);
  let links = 0;
  for (let step = rest.shift(); step !== undefined; step = rest.shift()) {
    const next = join(current, step);
    visited.push(next);
    const target = linkTarget(next);
    if (target === undefined) {
      current = next;
      continue;
    }
    if (++links > maxLinks) return undefined;
    if (isAbsolute(target)) current = parse(target).root;
    rest = [...stepsOf(target), ...rest];
  }
  visited.push(current);
  return { real: current, visited };
}

function stepsOf(path: string): string[] {
  return path
    .slice(parse(path).root.length)
    .split(sep)
    .filter((step) => step !== "" && step !== ".");
}

function linkTarget(path: string): string | undefined {
  try {
    return lstatSync(path).isSymbolicLink() ? readlinkSync(path) : undefined;
  } catch {
    return undefined;
  }
}
