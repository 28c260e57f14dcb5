/** How a file is named to others: by what they wrote, and by where that leads. */
import { relative } from "node:path";
import type { FileGuard } from "./file-guard.ts";
import { isInside } from "../../shared/is-inside.ts";

/** Relative to the Workspace where it lies in it; in quotes when it could be taken for more than one line. */
export function shownName(guard: FileGuard, realPath: string): string {
  const inside = isInside(guard.workspaceDir, realPath) ? relative(guard.workspaceDir, realPath) : "";
  return quoted(inside === "" ? realPath : inside);
}

/** As it was written, and where it leads when that is elsewhere. */
export function shownPath(guard: FileGuard, path: string, realPath: string): string {
  return guard.isDirect(path, realPath) ? quoted(path) : `${quoted(path)} (which is ${shownName(guard, realPath)})`;
}

/** For the head of a diff: the file that it is about. */
export function diffPath(guard: FileGuard, path: string, realPath: string): string {
  return guard.isDirect(path, realPath) ? quoted(path) : shownName(guard, realPath);
}

function quoted(path: string): string {
  return /\p{Cc}/u.test(path) ? JSON.stringify(path) : path;
}
