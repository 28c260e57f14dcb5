/** Commands whose Coxswain was killed: found by their marker, which names the process that started them. */
import { lstatSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endProcesses } from "./end-processes.ts";
import { markerName, processTable, startTime } from "./process-table.ts";

const pipePrefix = "coxswain-pipe";
/** In such a name: the namespace of its owner, and his mark. */
const ownerIn = new RegExp(`^${pipePrefix}-(\\d+)-(\\d+\\.\\d+)-[^/]+$`);
let ownMark: string | undefined;

/** `<pid>.<start time>` of this process: a later process with the same id has another start time. */
export function hostMark(): string {
  ownMark ??= `${process.pid}.${startTime(process.pid) ?? "0"}`;
  return ownMark;
}

/** How the name of a directory begins in which a command's pipe is made: it says whose it is. */
export function pipeDirectoryPrefix(): string {
  return `${pipePrefix}-${ownNamespace()}-${hostMark()}-`;
}

/**
 * Ends what commands of dead Coxswain processes of this machine have left, and removes the directories of pipes that they
 * were about to open. Linux only; elsewhere it does nothing.
 * @returns How many processes there were.
 */
export async function endOrphanedCommands(): Promise<number> {
  if (process.platform !== "linux") return 0;
  removeOrphanedDirectories();
  const orphans = new Set<string>();
  // This process may itself be what another one's command has started.
  const inherited = process.env[markerName];
  for (const entry of await processTable()) {
    if (entry.marker === undefined || entry.marker === inherited) continue;
    const mark = /^(\d+\.\d+)\.[0-9a-f-]{36}$/.exec(entry.marker)?.[1];
    if (mark === undefined || !isDead(mark) || !sharesNamespace(entry.pid)) continue;
    orphans.add(entry.marker);
  }
  // The group's number may by now be another's: what carries the marker is ended, and what descends from it.
  const counts = await Promise.all([...orphans].map((marker) => endProcesses({ pid: undefined, marker })));
  return counts.reduce((sum, count) => sum + count, 0);
}

/** Only one's own, of which the name says whose they were. */
function removeOrphanedDirectories(): void {
  for (const name of namesIn(tmpdir())) {
    const [, namespace, mark] = ownerIn.exec(name) ?? [];
    if (mark === undefined || namespace !== ownNamespace() || !isDead(mark)) continue;
    const path = join(tmpdir(), name);
    try {
      const stats = lstatSync(path);
      if (stats.isDirectory() && stats.uid === process.getuid?.()) rmSync(path, { recursive: true, force: true });
    } catch {
      // It is gone already, or cannot be removed.
    }
  }
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}

/** @param mark As `hostMark` gives it. Who cannot be looked at is taken to live. */
function isDead(mark: string): boolean {
  const [pid, start] = mark.split(".");
  try {
    return startTime(Number(pid)) !== start;
  } catch {
    return false;
  }
}

/** Process ids mean nothing across namespaces: a container's commands are no orphans of ours. */
function sharesNamespace(pid: number): boolean {
  const namespace = namespaceOf(pid);
  return namespace !== undefined && namespace === namespaceOf("self");
}

function ownNamespace(): string {
  return namespaceOf("self") ?? "0";
}

/** Its number; `undefined` when it cannot be looked at. */
function namespaceOf(process: number | "self"): string | undefined {
  try {
    return /\d+/.exec(readlinkSync(`/proc/${process}/ns/pid`))?.[0];
  } catch {
    return undefined;
  }
}
