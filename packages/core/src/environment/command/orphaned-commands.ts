/** Commands whose Coxswain was killed: found by their marker, which names the process that started them. */
import { lstatSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { endProcesses } from "./end-processes.ts";
import { hostOfMarker, hostOfPipeDirectory, isDead, sharesNamespace } from "../../shared/host-mark.ts";
import { markerName, processTable } from "./process-table.ts";

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
    const mark = hostOfMarker(entry.marker);
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
    const mark = hostOfPipeDirectory(name);
    if (mark === undefined || !isDead(mark)) continue;
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
