/** What a test has left behind, checked after everything that it has registered for its end. */
import { getEventListeners } from "node:events";
import { mkdtempSync, readdirSync, readlinkSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, beforeEach, expect } from "vitest";
import { hostMark } from "../../../src/shared/host-mark.ts";
import { processTable } from "../../../src/environment/command/process-table.ts";

/** Of the test runner some come and go: what is not gone after so many looks is left. */
const looks = 20;
const lookAgainMs = 5;

interface State {
  processes: Set<number>;
  timers: number;
  /** Of the process, by event. */
  listeners: Map<string | symbol, number>;
  files: Set<string>;
  descriptors: Set<string>;
}

const signals = new Set<AbortSignal>();

/** Nothing may go on listening to it when the test ends. */
export function watchSignal(signal: AbortSignal | undefined): void {
  if (signal !== undefined) signals.add(signal);
}

/** Makes every test of the file fail that leaves something. */
export function checkForLeaks(): void {
  const directory = ownTemporaryDirectory();
  beforeEach(async ({ onTestFinished }) => {
    const before = await currentState(directory);
    // The first that is registered is the last that is called.
    onTestFinished(async () => {
      const left = await leftSince(before, directory);
      signals.clear();
      expect(left, "left behind by this test").toEqual([]);
    });
  });
}

/** Where all temporary files of this test file are made: others at work at the same time have theirs elsewhere. */
function ownTemporaryDirectory(): string {
  const outer = process.env.TMPDIR;
  const directory = mkdtempSync(join(tmpdir(), "no-leaks-"));
  process.env.TMPDIR = directory;
  afterAll(() => {
    if (outer === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = outer;
    rmSync(directory, { recursive: true, force: true });
  });
  return directory;
}

export async function currentState(directory: string): Promise<State> {
  const mark = hostMark();
  const ours = (await processTable()).filter(
    (entry) => entry.parentPid === process.pid || entry.marker?.startsWith(`${mark}.`) === true,
  );
  return {
    processes: new Set(ours.map((entry) => entry.pid)),
    timers: process.getActiveResourcesInfo().filter((name) => name === "Timeout").length,
    listeners: new Map(process.eventNames().map((name) => [name, process.listenerCount(name)])),
    files: new Set(readdirSync(directory)),
    descriptors: new Set(openDescriptors()),
  };
}

/** In words, one for each kind of thing and thing. */
export async function leftSince(before: State, directory: string): Promise<string[]> {
  for (let look = 1; ; look++) {
    const left = [...difference(before, await currentState(directory)), ...heardSignals()];
    if (left.length === 0 || look === looks) return left;
    await delay(lookAgainMs);
  }
}

function* difference(before: State, now: State): Generator<string> {
  for (const pid of now.processes) if (!before.processes.has(pid)) yield `process ${pid}`;
  if (now.timers > before.timers) yield `${now.timers - before.timers} timers`;
  for (const [name, count] of now.listeners) {
    if (count > (before.listeners.get(name) ?? 0)) yield `listener on process: ${String(name)}`;
  }
  for (const file of now.files) if (!before.files.has(file)) yield `temporary file ${file}`;
  for (const descriptor of now.descriptors) if (!before.descriptors.has(descriptor)) yield `descriptor ${descriptor}`;
}

function* heardSignals(): Generator<string> {
  for (const signal of signals) if (getEventListeners(signal, "abort").length > 0) yield "listener on a signal";
}

/** One for each process: Node keeps it from the first file on that is watched. */
const ofFileWatches = "anon_inode:inotify";

/** Number and what it leads to; of Linux. */
function openDescriptors(): string[] {
  if (process.platform !== "linux") return [];
  return readdirSync("/proc/self/fd").flatMap((number) => {
    try {
      const target = readlinkSync(`/proc/self/fd/${number}`);
      return target === ofFileWatches ? [] : [`${number}: ${target}`];
    } catch {
      // The one that the list itself was read by.
      return [];
    }
  });
}
