/** Ends the processes of a command: TERM, and KILL for those that do not listen. */
import { setTimeout as delay } from "node:timers/promises";
import { type CommandIdentity, type ProcessEntry, processesOf, processTable } from "./process-table.ts";

/** Real time: processes know no other clock. */
const termGraceMs = 200;
const pollMs = 15;
const killRounds = 20;

/** For a command that has exited: ends what it left running. Gives how many processes that were. */
export async function endLeftOver(command: CommandIdentity): Promise<number> {
  const left = await findProcesses(command);
  if (left.length > 0) await endProcesses(command);
  return left.length;
}

/** How many there were. Resolves when all are gone, or cannot be ended. */
export async function endProcesses(command: CommandIdentity): Promise<number> {
  signalGroup(command.pid, "SIGTERM");
  const signalled = new Set<number>();
  const deadline = performance.now() + termGraceMs;
  for (;;) {
    const left = await findProcesses(command);
    if (left.length === 0) return signalled.size;
    for (const entry of left) {
      if (!signalled.has(entry.pid) && entry.groupId !== command.pid) signal(entry.pid, "SIGTERM");
      signalled.add(entry.pid);
    }
    if (performance.now() >= deadline) break;
    await delay(pollMs);
  }
  for (let round = 0; round < killRounds; round++) {
    signalGroup(command.pid, "SIGKILL");
    const left = await findProcesses(command);
    if (left.length === 0) break;
    for (const entry of left) {
      signalled.add(entry.pid);
      signal(entry.pid, "SIGKILL");
    }
    await delay(pollMs);
  }
  return signalled.size;
}

async function findProcesses(command: CommandIdentity): Promise<ProcessEntry[]> {
  try {
    return processesOf(await processTable(), command);
  } catch {
    // Without a table there is still the group.
    const { pid } = command;
    return pid !== undefined && groupIsAlive(pid)
      ? [{ pid, parentPid: 0, groupId: pid, sessionId: pid, marker: command.marker }]
      : [];
  }
}

function groupIsAlive(pid: number): boolean {
  try {
    process.kill(-pid, 0);
    return true;
  } catch {
    return false;
  }
}

function signalGroup(pid: number | undefined, name: "SIGTERM" | "SIGKILL"): void {
  if (pid !== undefined) signal(-pid, name);
}

function signal(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone already, or belongs to another user.
  }
}
