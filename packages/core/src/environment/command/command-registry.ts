/** The commands of one Environment. */
import { randomUUID } from "node:crypto";
import type { Clock } from "../../engine/ports.ts";
import { BackgroundCommands } from "./background-commands.ts";
import { Command } from "./command.ts";
import type { CommandSandbox } from "./command-sandbox.ts";
import type { CommandTranscriptOptions } from "./command-transcript.ts";
import { hostMark } from "./orphaned-commands.ts";

export interface CommandRegistryOptions {
  /** The environment that commands get. */
  variables: Readonly<Record<string, string>>;
  /** What stands around every command. */
  sandbox: CommandSandbox | undefined;
  output: CommandTranscriptOptions;
  clock: Clock;
}

export interface CommandSettings {
  command: string;
  /** An existing directory. */
  workdir: string;
  /** Its standard input stays open. */
  takesInput: boolean;
}

export class CommandRegistry {
  readonly background: BackgroundCommands;
  readonly #options: CommandRegistryOptions;
  readonly #running = new Set<Command>();
  readonly #starting = new Set<Promise<unknown>>();
  #disposed = false;

  constructor(options: CommandRegistryOptions) {
    this.#options = options;
    this.background = new BackgroundCommands(options.output.secrets);
  }

  /** @throws Error when the command cannot be started; ToolError when it must not run. */
  async start(settings: CommandSettings): Promise<Command> {
    if (this.#disposed) throw new Error("The Session has been closed; no command is started any more.");
    const { variables, sandbox, output, clock } = this.#options;
    const marker = `${hostMark()}.${randomUUID()}`;
    const starting = Command.start({ ...settings, variables, sandbox, marker }, output, clock);
    const settled = starting.then(
      (command) => this.#track(command),
      () => undefined,
    );
    this.#starting.add(settled);
    try {
      return await starting;
    } finally {
      this.#starting.delete(settled);
    }
  }

  /** Ends every command and all that they started. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    this.background.dispose();
    await Promise.all(this.#starting);
    await Promise.all([...this.#running].map((command) => Promise.all([command.process.end(), command.ended])));
  }

  #track(command: Command): void {
    this.#running.add(command);
    void command.ended.then(() => this.#running.delete(command));
  }
}
