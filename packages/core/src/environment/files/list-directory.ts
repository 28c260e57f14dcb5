/** What is in a directory that is still the one that was looked at, whatever its path leads to meanwhile. */
import {
  closeSync,
  constants,
  type Dirent,
  fstatSync,
  openSync,
  readdirSync,
  readlinkSync,
  realpathSync,
} from "node:fs";
import { ToolError } from "../tool-error.ts";
import { type ForbiddenIdentities, identityKey } from "./forbidden-inodes.ts";

const flags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

/**
 * By name.
 *
 * @param realPath Without links, and not forbidden by its name.
 * @throws ToolError when it leads elsewhere by now; a system error
 */
export function listDirectory(realPath: string, identities: ForbiddenIdentities): Dirent[] {
  const descriptor = openSync(realPath, flags);
  try {
    const named = `/proc/self/fd/${descriptor}`;
    const told = whereIs(named);
    if ((told ?? realpathSync(realPath)) !== realPath) {
      throw new ToolError(`${realPath} leads elsewhere by now: try again.`);
    }
    if (identities.hasRoot(identityKey(fstatSync(descriptor, { bigint: true })))) {
      throw new ToolError(`Access to ${JSON.stringify(realPath)} is not allowed.`);
    }
    // Where the system gives no names to descriptors, it is read by its path.
    const entries = readdirSync(told === undefined ? realPath : named, { withFileTypes: true });
    return entries.sort((a, b) => (a.name < b.name ? -1 : 1));
  } finally {
    closeSync(descriptor);
  }
}

function whereIs(named: string): string | undefined {
  try {
    return readlinkSync(named);
  } catch {
    return undefined;
  }
}
