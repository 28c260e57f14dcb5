/** One running shell command: a process group of its own, its output as text, and its end with all that it started. */
import { type ChildProcess, spawn } from "node:child_process";
import { existsSync } from "node:fs";
import type { Readable } from "node:stream";
import { setTimeout as delay } from "node:timers/promises";
import { CommandOutput } from "./command-output.ts";
import { endLeftOver, endProcesses } from "./end-processes.ts";
import { markerName } from "./process-table.ts";

export interface CommandStart {
  /** For `bash -c`, or `sh -c` where there is no bash. */
  command: string;
  /** An existing directory. */
  workdir: string;
  variables: Readonly<Record<string, string>>;
  /** What all its processes carry in their environment. */
  marker: string;
}

export interface CommandExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Processes that it had left running; they have been ended. */
  leftOver: number;
}

/** Deltas come at most this often, unless there is much to say. */
const coalesceMs = 30;
const coalesceLength = 8 * 1024;
/** Past this the command waits until its output is taken. */
const maxPendingLength = 256 * 1024;
/** What may be read in advance of what an ended command has left in its pipe. */
const maxDrainLength = 8 * 1024 * 1024;
/** How long a pipe that someone else holds open may be silent before it is let go, once the command has exited. */
const drainIdleMs = 25;

export class CommandProcess {
  readonly pid: number;
  readonly marker: string;
  /** Resolves once the command has exited, what it left is ended and its output is complete. */
  readonly exited: Promise<CommandExit>;
  readonly #stdout: Readable;
  readonly #output = new CommandOutput();
  #untaken = false;
  #takenAt = Number.NEGATIVE_INFINITY;
  #bytes = 0;
  #hasExited = false;
  #closed = false;
  #drained = false;
  #wake: (() => void) | undefined;
  #ending: Promise<number> | undefined;

  /** @throws Error when the shell cannot be started; the message says why. */
  static async start(start: CommandStart): Promise<CommandProcess> {
    const child = spawnShell(start);
    await new Promise<void>((resolve, reject) => {
      child.once("spawn", resolve);
      child.once("error", reject);
    });
    return new CommandProcess(child, start.marker);
  }

  private constructor(child: ChildProcess, marker: string) {
    if (child.pid === undefined || child.stdout === null) throw new Error("The shell was started without a pipe.");
    this.pid = child.pid;
    this.marker = marker;
    this.#stdout = child.stdout;
    this.#stdout.on("data", (bytes: Buffer) => this.#onData(bytes));
    this.#stdout.once("error", () => this.#onClose());
    this.#stdout.once("close", () => this.#onClose());
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        void this.#afterExit().then((leftOver) => resolve({ code, signal, leftOver }));
      });
    });
  }

  /** The next text, as soon as there is some; `undefined` after the last. One reader. */
  async read(): Promise<string | undefined> {
    for (;;) {
      const waitMs = this.#takenAt + coalesceMs - performance.now();
      if (this.#drained) {
        const rest = this.#output.takeAll();
        return rest === "" ? undefined : rest;
      }
      if (this.#untaken && (waitMs <= 0 || this.#output.pendingLength >= coalesceLength)) {
        const text = this.#take();
        if (text !== "") return text;
      }
      await this.#change(this.#untaken ? Math.max(1, waitMs) : undefined);
    }
  }

  /** Ends the command and all that it started. Gives how many processes there were. */
  end(): Promise<number> {
    this.#ending ??= endProcesses(this);
    return this.#ending;
  }

  #take(): string {
    this.#untaken = false;
    this.#takenAt = performance.now();
    const text = this.#output.take();
    if (this.#stdout.isPaused()) this.#stdout.resume();
    return text;
  }

  #onData(bytes: Buffer): void {
    this.#bytes += bytes.length;
    this.#untaken = true;
    this.#output.push(bytes);
    if (this.#output.pendingLength > (this.#hasExited ? maxDrainLength : maxPendingLength)) this.#stdout.pause();
    this.#wake?.();
  }

  #onClose(): void {
    this.#closed = true;
    this.#wake?.();
  }

  async #afterExit(): Promise<number> {
    this.#hasExited = true;
    this.#stdout.resume();
    const leftOver = this.#ending === undefined ? await endLeftOver(this) : 0;
    await this.#ending;
    await this.#drain();
    this.#drained = true;
    this.#wake?.();
    return leftOver;
  }

  /** Reads what is in the pipe. Someone who got away may hold it open: his output is not waited for. */
  async #drain(): Promise<void> {
    for (let before = -1; !this.#closed && before !== this.#bytes; ) {
      before = this.#bytes;
      await delay(drainIdleMs);
    }
    this.#stdout.destroy();
  }

  #change(timeoutMs: number | undefined): Promise<void> {
    return new Promise((resolve) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(() => this.#wake?.(), timeoutMs);
      this.#wake = () => {
        clearTimeout(timer);
        this.#wake = undefined;
        resolve();
      };
    });
  }
}

/** One pipe for both streams keeps their order. */
function spawnShell(start: CommandStart): ChildProcess {
  const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
  return spawn("/bin/sh", ["-c", 'exec "$0" -c -- "$1" 2>&1', shell, start.command], {
    cwd: start.workdir,
    env: { ...start.variables, [markerName]: start.marker },
    detached: true,
    stdio: ["ignore", "pipe", "ignore"],
  });
}
