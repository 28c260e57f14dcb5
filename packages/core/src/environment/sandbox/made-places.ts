/** What a sandbox protects has to be there: what is missing is made. */
import { lstatSync } from "node:fs";

/** Also a link that leads nowhere. */
export function isThere(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Where we cannot make it, commands of the same person cannot either. */
export function makeMissing(make: () => void): void {
  try {
    make();
  } catch {
    // It is there, or the place is read-only.
  }
}
