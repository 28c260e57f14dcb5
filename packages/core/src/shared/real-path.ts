import { realpathSync } from "node:fs";

/** Where a path leads; the path itself when it leads nowhere, or cannot be followed. */
export function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    return path;
  }
}
