/** One running shell command: a process group of its own, its streams, and its end with all that it started. */
import type { ChildProcess } from "node:child_process";
import { closeSync } from "node:fs";
import type { Readable, Writable } from "node:stream";
import { setImmediate as eventLoopTurn, setTimeout as delay } from "node:timers/promises";
import { CommandInput } from "./command-input.ts";
import type { CommandSandbox, Launch } from "./command-sandbox.ts";
import { endLeftOver, endProcesses, interruptProcesses } from "./end-processes.ts";
import { openInputPipe, writeInputPipe } from "./input-pipe.ts";
import { bash, startLaunch } from "./launch.ts";
import { openOutputPipe, readOutputPipe } from "./output-pipe.ts";
import { PlaceWatch } from "./place-watch.ts";
import { type CommandIdentity, markerName } from "./process-table.ts";

export interface CommandStart {
  /** For `bash -c`, or `sh -c` where there is no bash. */
  command: string;
  /** An existing directory. */
  workdir: string;
  variables: Readonly<Record<string, string>>;
  /** What all its processes carry in their environment. */
  marker: string;
  /** Its standard input stays open; else it finds the end of it at once. */
  takesInput: boolean;
  sandbox: CommandSandbox | undefined;
  onOutput: (bytes: Uint8Array) => void;
}

/** Our ends. */
interface Streams {
  input: Writable | null;
  output: Readable | null;
}

export interface CommandExit {
  code: number | null;
  signal: NodeJS.Signals | null;
  /** Processes that it had left running; they have been ended. */
  leftOver: number;
  /** What was kept from it, until something else was put there from outside: it is ended for that. */
  replaced?: string | undefined;
}

/** What may be read of the pipe once the command has exited and whatever it left is ended. */
const maxDrainBytes = 8 * 1024 * 1024;
/** How long a pipe that someone else holds open may be silent before it is let go, once the command has exited. */
const drainIdleMs = 25;

export class CommandProcess implements CommandIdentity {
  readonly pid: number;
  readonly marker: string;
  readonly isWrapped: boolean;
  /** When its standard input was kept open. */
  readonly input: CommandInput | undefined;
  /** Resolves once the command has exited, what it left is ended and its output is complete. */
  readonly exited: Promise<CommandExit>;
  readonly #child: ChildProcess;
  readonly #output: Readable;
  #bytes = 0;
  #closed = false;
  #ending: Promise<unknown> | undefined;

  /** @throws Error when the shell cannot be started; the message says why. ToolError when the sandbox does not take it. */
  static async start(start: CommandStart): Promise<CommandProcess> {
    const launch = launchOf(start);
    const output = await openOutputPipe(start.sandbox);
    const input = start.takesInput ? await openInputPipe() : undefined;
    const places = new PlaceWatch(launch.keptPlaces ?? []);
    try {
      const child = await startLaunch(launch, {
        input: input?.reader ?? (start.takesInput ? "pipe" : "ignore"),
        output: output?.writer ?? "pipe",
      });
      const streams = {
        input: input === undefined ? child.stdin : writeInputPipe(input),
        output: output === undefined ? child.stdout : readOutputPipe(output),
      };
      return new CommandProcess(child, streams, start, places);
    } catch (error) {
      places.end();
      for (const ours of [output?.reader, input?.writer]) if (ours !== undefined) closeSync(ours);
      throw error;
    } finally {
      for (const theirs of [output?.writer, input?.reader]) if (theirs !== undefined) closeSync(theirs);
    }
  }

  private constructor(child: ChildProcess, { input, output }: Streams, start: CommandStart, places: PlaceWatch) {
    if (child.pid === undefined || output === null) throw new Error("The shell was started without a pipe.");
    this.pid = child.pid;
    this.marker = start.marker;
    this.isWrapped = start.sandbox !== undefined;
    this.input = input === null ? undefined : new CommandInput(input);
    this.#child = child;
    this.#output = output;
    output.on("data", (bytes: Buffer) => {
      this.#bytes += bytes.length;
      start.onOutput(bytes);
    });
    output.once("error", () => (this.#closed = true));
    output.once("close", () => (this.#closed = true));
    this.exited = new Promise((resolve) => {
      child.once("exit", (code, signal) => {
        const replaced = places.end();
        void this.#afterExit().then((leftOver) => resolve({ code, signal, leftOver, replaced }));
      });
    });
    // At once, and not as one that is asked to end: every moment counts.
    places.onReplaced(() => child.kill("SIGKILL"));
  }

  /** Ends the command and all that it started. */
  async end(): Promise<void> {
    this.#ending ??= endProcesses(this);
    await this.#ending;
  }

  /** Nobody waits any more for one that cannot be ended, and our own process may end before it. */
  abandon(): void {
    this.#child.unref();
    this.input?.close();
    this.#output.destroy();
  }

  /** What Ctrl-C at a terminal does. */
  async interrupt(): Promise<void> {
    await interruptProcesses(this);
  }

  async #afterExit(): Promise<number> {
    this.input?.close();
    const leftOver = this.#ending === undefined ? await endLeftOver(this) : 0;
    await this.#ending;
    await this.#drain();
    return leftOver;
  }

  /** Reads what is in the pipe. Someone who got away may hold it open: his output is not waited for. */
  async #drain(): Promise<void> {
    const end = this.#bytes + maxDrainBytes;
    for (let before = -1; !this.#closed && before !== this.#bytes && this.#bytes < end; ) {
      before = this.#bytes;
      await delay(drainIdleMs);
      // Where much else is done meanwhile, nobody has looked at the pipe before this.
      await eventLoopTurn();
    }
    this.#output.destroy();
  }
}

/** What stands around the shell carries the marker too. */
function launchOf({ command, workdir, variables, marker, sandbox }: CommandStart): Launch {
  const own = { [markerName]: marker };
  const launch: Launch = {
    argv: [bash ?? "/bin/sh", "-c", "--", command],
    workdir,
    variables: { ...variables, ...own },
  };
  if (sandbox === undefined) return launch;
  const wrapped = sandbox.wrap(launch);
  return { ...wrapped, variables: { ...wrapped.variables, ...own } };
}
