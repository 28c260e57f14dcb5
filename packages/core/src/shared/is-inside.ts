/** Where a path lies. */
import { sep } from "node:path";

/** Whether the path is the directory or lies below it. Both are absolute, normalized and have no links. */
export function isInside(directory: string, path: string): boolean {
  return withSeparator(path).startsWith(withSeparator(directory));
}

function withSeparator(path: string): string {
  return path.endsWith(sep) ? path : path + sep;
}
