/** The commands of one Environment. */
import type { Clock } from "../../engine/ports.ts";
import { BackgroundCommands } from "./background-commands.ts";
import { Command } from "./command.ts";
import type { CommandStart } from "./command-process.ts";
import type { CommandSandbox } from "./command-sandbox.ts";
import type { CommandTranscriptOptions } from "./command-transcript.ts";
import { commandLine } from "./command-words.ts";
import { newMarker } from "../../shared/host-mark.ts";

/** What the end of all commands may take. */
const maxEndMs = 5_000;

export interface CommandRegistryOptions {
  /** The environment that commands get. */
  variables: Readonly<Record<string, string>>;
  /** What stands around every command. */
  sandbox: CommandSandbox | undefined;
  output: CommandTranscriptOptions;
  clock: Clock;
}

/** What a call says of its command; all else of its start is the registry's. */
export type CommandSettings = Pick<CommandStart, "command" | "workdir" | "takesInput">;

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
    const starting = Command.start({ ...settings, variables, sandbox, marker: newMarker() }, output, clock);
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

  /** Ends every command and all that they started. What cannot be ended is told as a warning and left. */
  async dispose(): Promise<void> {
    this.#disposed = true;
    this.background.dispose();
    await Promise.all(this.#starting);
    const running = [...this.#running];
    if (running.length === 0) return;
    const over = new AbortController();
    const ended = Promise.all(running.map((command) => Promise.all([command.process.end(), command.ended])));
    await Promise.race([ended, this.#options.clock.sleep(maxEndMs, over.signal)]);
    over.abort();
    if (this.#running.size === 0) return;
    process.emitWarning(this.#leftWords());
    for (const command of this.#running) command.process.abandon();
  }

  /** It may run as another user, as what sudo starts does. */
  #leftWords(): string {
    const { secrets } = this.#options.output;
    const left = Array.from(this.#running, (command) => `${command.process.pid} (${commandLine(command, secrets)})`);
    return `Commands that could not be ended go on: ${left.join(", ")}. End them by their process ids.`;
  }

  #track(command: Command): void {
    this.#running.add(command);
    void command.ended.then(() => this.#running.delete(command));
  }
}
