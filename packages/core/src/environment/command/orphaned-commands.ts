/** Commands whose Coxswain was killed: found by their marker, which names the process that started them. */
import { readFileSync, readlinkSync } from "node:fs";
import { endProcesses } from "./end-processes.ts";
import { markerName, processTable } from "./process-table.ts";

let ownMark: string | undefined;

/** `<pid>.<start time>` of this process: a later process with the same id has another start time. */
export function hostMark(): string {
  ownMark ??= `${process.pid}.${startTime(process.pid) ?? "0"}`;
  return ownMark;
}

/**
 * Ends what commands of dead Coxswain processes of this machine have left. Linux only; elsewhere it does nothing.
 * @returns How many processes there were.
 */
export async function endOrphanedCommands(): Promise<number> {
  if (process.platform !== "linux") return 0;
  const orphans = new Set<string>();
  // This process may itself be what another one's command has started.
  const inherited = process.env[markerName];
  for (const entry of await processTable()) {
    if (entry.marker === undefined || entry.marker === inherited) continue;
    if (!isOrphaned(entry.marker) || !sharesNamespace(entry.pid)) continue;
    orphans.add(entry.marker);
  }
  // The group's number may by now be another's: what carries the marker is ended, and what descends from it.
  const counts = await Promise.all([...orphans].map((marker) => endProcesses({ pid: undefined, marker })));
  return counts.reduce((sum, count) => sum + count, 0);
}

function isOrphaned(marker: string): boolean {
  const match = /^(\d+)\.(\d+)\.[0-9a-f-]{36}$/.exec(marker);
  return match !== null && startTime(Number(match[1])) !== match[2];
}

/** In clock ticks since boot; `undefined` when there is no such process. */
function startTime(pid: number): string | undefined {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}

/** Process ids mean nothing across namespaces: a container's commands are no orphans of ours. */
function sharesNamespace(pid: number): boolean {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`) === readlinkSync("/proc/self/ns/pid");
  } catch {
    return false;
  }
}
