/** Ends the processes of a command: TERM, and KILL for those that do not listen. */
import { setTimeout as delay } from "node:timers/promises";
import { type CommandIdentity, type ProcessEntry, processesOf, processTable } from "./process-table.ts";

/** Real time: processes know no other clock. */
const termGraceMs = 200;
const pollMs = 15;
const killRounds = 20;

type EndSignal = "SIGINT" | "SIGTERM" | "SIGKILL";

/** For a command that has exited: ends what it left running. Gives how many processes that were. */
export async function endLeftOver(command: CommandIdentity): Promise<number> {
  const left = await findProcesses(command);
  if (left.length > 0) await endProcesses(command);
  // The first process within a wrapper may still be about to end with it.
  return command.isWrapped === true ? Math.max(0, left.length - 1) : left.length;
}

/** How many there were. Resolves when all are gone, or cannot be ended. */
export async function endProcesses(command: CommandIdentity): Promise<number> {
  const isWrapped = command.isWrapped === true;
  const signalled = new Set<number>();
  // From when all have been asked: to look around may itself take long.
  let deadline = Number.POSITIVE_INFINITY;
  for (let isFirst = true; ; isFirst = false) {
    const left = await findProcesses(command);
    if (left.length === 0) return signalled.size;
    if (isFirst && !isWrapped) signalGroupOf(left, command, "SIGTERM");
    for (const entry of left) {
      const isAsked = isWrapped ? entry.pid === command.pid : entry.groupId === command.pid;
      if (!signalled.has(entry.pid) && !isAsked) signal(entry.pid, "SIGTERM");
      signalled.add(entry.pid);
    }
    if (performance.now() >= deadline) break;
    deadline = Math.min(deadline, performance.now() + termGraceMs);
    await delay(pollMs);
  }
  for (let round = 0; round < killRounds; round++) {
    const left = await findProcesses(command);
    if (left.length === 0) break;
    signalGroupOf(left, command, "SIGKILL");
    for (const entry of left) {
      signalled.add(entry.pid);
      signal(entry.pid, "SIGKILL");
    }
    await delay(pollMs);
  }
  return signalled.size;
}

/** What Ctrl-C at a terminal does: the shell and what it runs are told, what has left its group is not. */
export async function interruptProcesses(command: CommandIdentity): Promise<void> {
  const found = await findProcesses(command);
  if (command.isWrapped !== true) return signalGroupOf(found, command, "SIGINT");
  const inside = found.filter((entry) => entry.pid !== command.pid);
  const groups = new Set(inside.filter((entry) => entry.parentPid === command.pid).map((entry) => entry.groupId));
  for (const entry of inside) if (groups.has(entry.groupId)) signal(entry.pid, "SIGINT");
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

/** Only a group of which somebody was found: the number of one that has ended may be another's. */
function signalGroupOf(found: readonly ProcessEntry[], { pid }: CommandIdentity, name: EndSignal): void {
  if (pid !== undefined && found.some((entry) => entry.groupId === pid)) signal(-pid, name);
}

function signal(pid: number, name: EndSignal): void {
  try {
    process.kill(pid, name);
  } catch {
    // It is gone already, or belongs to another user.
  }
}
