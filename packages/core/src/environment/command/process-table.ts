/** Which processes there are, and which of them a command has started. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { errnoOf } from "../../shared/error-words.ts";
import { field, fieldsIn, isGone } from "../../shared/process-stat.ts";

/** The variable that every process of a command carries. */
export const markerName = "COXSWAIN_COMMAND";

/** So many processes are looked at before others get their turn. */
const processesPerTurn = 128;
/** Real time: what cannot be seen for a moment, for want of a descriptor or because it is just changing, soon can. */
const unclearWaitMs = 15;
const unclearRounds = 20;

export interface ProcessEntry {
  pid: number;
  parentPid: number;
  groupId: number;
  sessionId: number;
  /** The value of its marker variable. */
  marker: string | undefined;
}

/** Every process that is alive; zombies are not. @throws Error when it cannot be read whole */
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
  const { marker } = command;
  const pid = isAnothers(table, command.pid) ? undefined : command.pid;
  const found = new Set(
    table.filter((entry) => entry.groupId === pid || entry.sessionId === pid || entry.marker === marker),
  );
  const pids = new Set([pid, ...[...found].map((entry): number | undefined => entry.pid)]);
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

/**
 * The shell, which is our child, has ended and its number is another's. Then nobody of its group or session is left
 * either: the system keeps a number as long as it names one of these.
 */
function isAnothers(table: readonly ProcessEntry[], pid: number | undefined): boolean {
  return table.some((entry) => entry.pid === pid && entry.parentPid !== process.pid);
}

/** One file at a time: descriptors may be few, and a process that cannot be looked at for want of one is not gone. */
async function linuxTable(): Promise<ProcessEntry[]> {
  const table = new LinuxTable();
  for (let round = 1; ; round++) {
    const isLast = round === unclearRounds;
    try {
      const isWhole = await table.read();
      if (isLast) table.settle();
      if (isWhole || isLast) return table.entries();
      if (!table.hasUnclear) continue;
    } catch (error) {
      const code = errnoOf(error);
      if ((code !== "EMFILE" && code !== "ENFILE") || isLast) throw error;
    }
    await delay(unclearWaitMs);
  }
}

/**
 * Read in rounds. Whoever ended while others were read may have started one that is not in the list yet, and whoever
 * is in the middle of becoming another program says nothing of its variables: both need another look.
 */
class LinuxTable {
  /** Who stayed unclear through a whole reading, by number and start time: some have given their variables back. */
  static #settled: ReadonlySet<string> = new Set();

  readonly #seen = new Map<string, ProcessEntry | undefined>();
  #unclear: { entry: ProcessEntry; identity: string }[] = [];

  get hasUnclear(): boolean {
    return this.#unclear.length > 0;
  }

  entries(): ProcessEntry[] {
    const unclear = this.#unclear.map(({ entry }) => entry);
    return [...this.#seen.values(), ...unclear].filter((entry) => entry !== undefined);
  }

  /** Whoever is unclear now will not become clear: the next readings do not wait for it. */
  settle(): void {
    const kept = [...LinuxTable.#settled].filter((identity) => this.#seen.has(identity.split(".")[0] ?? ""));
    LinuxTable.#settled = new Set([...kept, ...this.#unclear.map(({ identity }) => identity)]);
  }

  /** Looks at those who are new. Gives whether nobody can be missing. */
  async read(): Promise<boolean> {
    this.#unclear = [];
    let hasEnded = false;
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name) && !this.#seen.has(name));
    for (const [index, pid] of pids.entries()) {
      if (index % processesPerTurn === processesPerTurn - 1) await new Promise((resolve) => setImmediate(resolve));
      const { entry, isUnclear, identity } = linuxProcess(Number(pid));
      if (entry === undefined) hasEnded = true;
      if (isUnclear && entry !== undefined && !LinuxTable.#settled.has(identity))
        this.#unclear.push({ entry, identity });
      else this.#seen.set(pid, entry);
    }
    return !hasEnded && !this.hasUnclear;
  }
}

const kernelThread = 0x200000;

interface LinuxProcess {
  /** None for one that has ended. */
  entry?: ProcessEntry;
  isUnclear: boolean;
  /** No other process has had it since the machine started. */
  identity: string;
}

function linuxProcess(pid: number): LinuxProcess {
  const fields = statOf(`/proc/${pid}`);
  const identity = `${pid}.${fields[field.startTime]}`;
  // The first thread may have ended while others go on: then it looks like a zombie, and they show what it was.
  const isHeadless = fields[field.state] === "Z" && Number(fields[field.threads]) > 1;
  if (hasEnded(fields) && !isHeadless) return { isUnclear: false, identity };
  const shown = isHeadless ? livingThread(pid) : { place: `/proc/${pid}`, fields };
  const variables = shown && readIfThere(`${shown.place}/environ`);
  const isKernels = (Number(fields[field.flags]) & kernelThread) !== 0;
  const [, parentPid, groupId, sessionId] = fields;
  const marker = markerIn((variables ?? "").split("\0"));
  const entry = { pid, parentPid: Number(parentPid), groupId: Number(groupId), sessionId: Number(sessionId), marker };
  // From where to where they stand in its memory: nowhere yet, or somewhere by now.
  const [start, end] = shown?.fields.slice(field.variables) ?? [];
  return { entry, identity, isUnclear: variables === "" && !isKernels && (end === "0" || start !== end) };
}

function livingThread(pid: number): { place: string; fields: string[] } | undefined {
  return namesIn(`/proc/${pid}/task`)
    .map((thread) => `/proc/${pid}/task/${thread}`)
    .map((place) => ({ place, fields: statOf(place) }))
    .find(({ fields }) => !hasEnded(fields));
}

function statOf(place: string): string[] {
  return fieldsIn(readIfThere(`${place}/stat`) ?? "");
}

function hasEnded(fields: readonly string[]): boolean {
  const state = fields[field.state];
  return state === undefined || state === "" || state === "Z" || state === "X";
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch (error) {
    if (isGone(error)) return [];
    throw error;
  }
}

/** `undefined` for a process that has ended, and for what is not ours to read. @throws Error for any other reason */
function readIfThere(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    const code = errnoOf(error);
    if (isGone(error) || code === "EACCES" || code === "EPERM") return undefined;
    throw error;
  }
}

function markerIn(variables: readonly string[]): string | undefined {
  const start = `${markerName}=`;
  return variables.find((variable) => variable.startsWith(start))?.slice(start.length);
}

async function psTable(): Promise<ProcessEntry[]> {
  const columns = "pid=,ppid=,pgid=,stat=,command=";
  const flags = process.platform === "darwin" ? ["-A", "-E", "-ww", "-o", columns] : ["-A", "-o", columns];
  const { stdout } = await promisify(execFile)("/bin/ps", flags, { maxBuffer: 64 * 1024 * 1024 });
  return stdout.split("\n").flatMap((line) => {
    const match = /^\s*(\d+)\s+(\d+)\s+(\d+)\s+(\S+)\s(.*)$/.exec(line);
    if (match === null || match[4]?.startsWith("Z")) return [];
    const marker = markerIn((match[5] ?? "").split(" "));
    return [{ pid: Number(match[1]), parentPid: Number(match[2]), groupId: Number(match[3]), sessionId: 0, marker }];
  });
}
