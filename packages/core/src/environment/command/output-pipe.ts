/**
 * Where a command's output goes. What Node gives a child is a socket, which it cannot open by name: `echo x > /dev/stderr`
 * fails. On Linux a command gets a real pipe.
 */
import { execFile } from "node:child_process";
import { closeSync, constants, openSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

export interface OutputPipe {
  /** Descriptors; each is closed by whoever has it. */
  reader: number;
  writer: number;
}

/** `undefined` where there is none: then Node's own does for most. */
export async function openOutputPipe(): Promise<OutputPipe | undefined> {
  if (process.platform !== "linux") return undefined;
  try {
    const directory = await mkdtemp(join(tmpdir(), "coxswain-pipe-"));
    try {
      const path = join(directory, "output");
      await promisify(execFile)("mkfifo", ["-m", "600", path]);
      return openBothEnds(path);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  } catch {
    // No place for it, no program that makes it, no descriptor left.
    return undefined;
  }
}

/** To be destroyed. */
export function readOutputPipe({ reader }: OutputPipe): Socket {
  return new Socket({ fd: reader, readable: true, writable: false });
}

/** Opening a writer waits for a reader, unless there is one. */
function openBothEnds(path: string): OutputPipe {
  const reader = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    return { reader, writer: openSync(path, constants.O_WRONLY) };
  } catch (error) {
    closeSync(reader);
    throw error;
  }
}
