/** Which processes there are, and which of them a command has started. */
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { promisify } from "node:util";

/** The variable that every process of a command carries. */
export const markerName = "COXSWAIN_COMMAND";

export interface ProcessEntry {
  pid: number;
  parentPid: number;
  groupId: number;
  sessionId: number;
  /** The value of its marker variable. */
  marker: string | undefined;
}

/** Every process that is alive; zombies are not. */
export async function processTable(): Promise<ProcessEntry[]> {
  return process.platform === "linux" ? linuxTable() : psTable();
}

export interface CommandIdentity {
  /** Of its shell: also its group and session. `undefined` when it can no longer be trusted. */
  pid: number | undefined;
  marker: string;
  /** `pid` is a sandbox: it dies at a signal that the shell inside would survive or handle. */
  isWrapped?: boolean;
}

/** The processes of one command: by group, session, marker and descent. */
export function processesOf(table: readonly ProcessEntry[], command: CommandIdentity): ProcessEntry[] {
  const found = new Set(
    table.filter(
      (entry) => entry.groupId === command.pid || entry.sessionId === command.pid || entry.marker === command.marker,
    ),
  );
  const pids = new Set([command.pid, ...[...found].map((entry): number | undefined => entry.pid)]);
  for (let before = -1; before !== pids.size; ) {
    before = pids.size;
    for (const entry of table) {
      if (!pids.has(entry.parentPid)) continue;
      pids.add(entry.pid);
      found.add(entry);
    }
  }
  return [...found].filter((entry) => entry.pid !== process.pid);
}

async function linuxTable(): Promise<ProcessEntry[]> {
  const pids = (await readdir("/proc")).filter((name) => /^\d+$/.test(name));
  const entries = await Promise.all(pids.map((pid) => linuxEntry(Number(pid))));
  return entries.filter((entry) => entry !== undefined);
}

async function linuxEntry(pid: number): Promise<ProcessEntry | undefined> {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  // The name, in parentheses, may hold anything.
  const [state, parentPid, groupId, sessionId] = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  if (state === undefined || state === "" || state === "Z" || state === "X") return undefined;
  // Of a process that is not ours, or that is just ending, it cannot be read.
  const variables = await readFile(`/proc/${pid}/environ`, "latin1").catch(() => "");
  const marker = /(?:^|\0)COXSWAIN_COMMAND=([^\0]*)/.exec(variables)?.[1];
  return { pid, parentPid: Number(parentPid), groupId: Number(groupId), sessionId: Number(sessionId), marker };
}

async function psTable(): Promise<ProcessEntry[]> {
  const columns = "pid=,ppid=,pgid=,stat=,command=";
  const flags = process.platform === "darwin" ? ["-A", "-E", "-ww", "-o", columns] : ["-A", "-o", columns];
  const { stdout } = await promisify(execFile)("ps", flags, { maxBuffer: 64 * 1024 * 1024 });
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s(.*)$/.exec(line);
    if (match === null || match[4]?.startsWith("Z")) return [];
    const marker = / COXSWAIN_COMMAND=(\S*)/.exec(match[5] ?? "")?.[1];
    return [{ pid: Number(match[1]), parentPid: Number(match[2]), groupId: Number(match[3]), sessionId: 0, marker }];
  });
}
