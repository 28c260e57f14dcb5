/** A command that was started: what it is, what it prints, and how it ended once it has. */
import { randomBytes } from "node:crypto";
import type { Clock } from "../../engine/ports.ts";
import { type CommandExit, CommandProcess, type CommandStart } from "./command-process.ts";
import { CommandTranscript, type CommandTranscriptOptions } from "./command-transcript.ts";

export interface CommandEnd extends CommandExit {
  /** From its start on. */
  afterMs: number;
}

export class Command {
  /** Never used again, in no process: a later command is not taken for this one. */
  readonly id = randomBytes(5).toString("hex");
  readonly text: string;
  readonly workdir: string;
  readonly process: CommandProcess;
  readonly transcript: CommandTranscript;
  /** Resolves when it has ended and `exit` is known. */
  readonly ended: Promise<void>;
  #exit: CommandEnd | undefined;

  /** @throws as `CommandProcess.start` does */
  static async start(
    start: Omit<CommandStart, "onOutput">,
    output: CommandTranscriptOptions,
    clock: Clock,
  ): Promise<Command> {
    const transcript = new CommandTranscript(output);
    const startedMs = clock.now();
    const process = await CommandProcess.start({ ...start, onOutput: (bytes) => transcript.push(bytes) });
    return new Command(start, transcript, process, () => clock.now() - startedMs);
  }

  private constructor(
    start: Pick<CommandStart, "command" | "workdir">,
    transcript: CommandTranscript,
    process: CommandProcess,
    elapsedMs: () => number,
  ) {
    this.text = start.command;
    this.workdir = start.workdir;
    this.transcript = transcript;
    this.process = process;
    this.ended = process.exited.then((exit) => {
      this.#exit = { ...exit, afterMs: elapsedMs() };
      transcript.end();
    });
  }

  /** How it ended; its output is complete then. */
  get exit(): CommandEnd | undefined {
    return this.#exit;
  }
}
