/** What whoever started us left open, and children would inherit: a directory or a log outside of every sandbox. */
import { readdirSync, readFileSync } from "node:fs";

const closeOnExec = 0o2000000;
let found: readonly number[] | undefined;

/** Of this process, from 3 up; looked for once. What is opened later is closed in children by Node. */
export function inheritedDescriptors(): readonly number[] {
  found ??= findDescriptors();
  return found;
}

function findDescriptors(): number[] {
  try {
    return readdirSync("/proc/self/fdinfo")
      .map(Number)
      .filter((descriptor) => descriptor > 2 && isInherited(descriptor));
  } catch {
    return [];
  }
}

function isInherited(descriptor: number): boolean {
  try {
    const flags = /^flags:\s*([0-7]+)/m.exec(readFileSync(`/proc/self/fdinfo/${descriptor}`, "utf8"))?.[1];
    return flags !== undefined && (Number.parseInt(flags, 8) & closeOnExec) === 0;
  } catch {
    // The one by which the list was read.
    return false;
  }
}
