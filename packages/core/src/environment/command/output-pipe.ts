/**
 * Where a command's output goes. What Node gives a child is a socket, which it cannot open by name: `echo x > /dev/stderr`
 * fails. On Linux a command gets a real pipe.
 */
import { execFile } from "node:child_process";
import { closeSync, constants, fstatSync, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { findProgram, programDirectories } from "../sandbox/find-program.ts";
import type { CommandSandbox } from "./command-sandbox.ts";
import { pipeDirectoryPrefix } from "../../shared/host-mark.ts";

export interface OutputPipe {
  /** Descriptors; each is closed by whoever has it. */
  reader: number;
  writer: number;
}

/** `undefined` where there is none: then Node's own does for most. */
export async function openOutputPipe(sandbox: CommandSandbox | undefined): Promise<OutputPipe | undefined> {
  if (process.platform !== "linux") return undefined;
  const program = findProgram("mkfifo", programDirectories(process.env["PATH"]), sandbox?.writableDirs ?? []);
  if (program === undefined) return undefined;
  try {
    const directory = await mkdtemp(resolve(sandbox?.privateDir ?? tmpdir(), pipeDirectoryPrefix()));
    try {
      const path = join(directory, "output");
      // Neither our variables nor our directory say what it loads.
      await promisify(execFile)(program, ["-m", "600", path], { cwd: "/", env: {} });
      return openBothEnds(path);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  } catch {
    // No place for it, no descriptor left, or something else in its place.
    return undefined;
  }
}

/** To be destroyed. */
export function readOutputPipe({ reader }: OutputPipe): Socket {
  return new Socket({ fd: reader, readable: true, writable: false });
}

/** Opening a writer waits for a reader, unless there is one. The name counts only once: it may lead elsewhere by now. */
function openBothEnds(path: string): OutputPipe {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW);
  try {
    if (!fstatSync(reader).isFIFO()) throw new Error(`${path} is no pipe.`);
    return { reader, writer: openSync(`/proc/self/fd/${reader}`, constants.O_WRONLY) };
  } catch (error) {
    closeSync(reader);
    throw error;
  }
}
