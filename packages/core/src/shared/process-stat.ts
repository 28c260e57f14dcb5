/** What `/proc/<pid>/stat` says of a process. Linux only. */
import { readFileSync } from "node:fs";
import { errnoOf } from "./error-words.ts";

/** Of its fields, without the number and the name: where they stand. */
export const field = { state: 0, flags: 6, threads: 17, startTime: 19, variables: 47 };

/** The name, in parentheses, may hold anything. */
export function fieldsIn(stat: string): string[] {
  return stat.slice(stat.lastIndexOf(")") + 2).split(" ");
}

/** In clock ticks since boot; `undefined` when there is no such process. @throws Error when it cannot be looked at */
export function startTime(pid: number): string | undefined {
  try {
    return fieldsIn(readFileSync(`/proc/${pid}/stat`, "latin1"))[field.startTime];
  } catch (error) {
    if (isGone(error)) return undefined;
    throw error;
  }
}

/** What reading a file in /proc says of a process that has ended. */
export function isGone(error: unknown): boolean {
  const code = errnoOf(error);
  return code === "ENOENT" || code === "ESRCH";
}
