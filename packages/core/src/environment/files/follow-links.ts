/** Where a path leads, link by link. */
import { lstatSync, readlinkSync } from "node:fs";
import { isAbsolute, join, parse, sep } from "node:path";

export interface FollowedPath {
  /** Without links, `.` and `..`; what does not exist is taken as it is written. */
  real: string;
  /** Every path that was looked at under way: all that a rule about names must be asked about. */
  visited: string[];
}

/** Why a path is not followed to its end. */
export type LinkProblem = "circle" | "too many steps" | "too long";

const maxLinks = 40;
/** Those of the links included: each is looked at, by names as long as all before it. */
export const maxSteps = 500;
/** No system takes a longer one. */
export const maxPathBytes = 4096;

/**
 * As the system does it: what stands before a `..` is followed first, if it is a link. Synchronous, so that calls for
 * one file keep their order.
 *
 * @param path Absolute.
 * @returns A problem for links that go in a circle, more than `maxSteps`, and a path on the way of more than `maxPathBytes`.
 */
export function followLinks(path: string): FollowedPath | LinkProblem {
  const visited: string[] = [];
  let current = parse(path).root;
  let rest = stepsOf(path);
  let links = 0;
  if (rest.length > maxSteps) return "too many steps";
  for (let step = rest.shift(); step !== undefined; step = rest.shift()) {
    const next = join(current, step);
    if (next.length > maxPathBytes) return "too long";
    visited.push(next);
    const target = linkTarget(next);
    if (target === undefined) {
      current = next;
      continue;
    }
    if (++links > maxLinks) return "circle";
    if (isAbsolute(target)) current = parse(target).root;
    rest = [...stepsOf(target), ...rest];
    if (visited.length + rest.length > maxSteps) return "too many steps";
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
