/** The commands of one Environment. */
import { randomUUID } from "node:crypto";
import { CommandProcess } from "./command-process.ts";
import { hostMark } from "./orphaned-commands.ts";

export class CommandRegistry {
  readonly #variables: Readonly<Record<string, string>>;
  readonly #running = new Set<CommandProcess>();
  readonly #starting = new Set<Promise<unknown>>();
  #disposed = false;

  /** @param variables The environment that commands get. */
  constructor(variables: Readonly<Record<string, string>>) {
    this.#variables = variables;
  }

  /** @throws Error when the command cannot be started. */
  async start(command: string, workdir: string): Promise<CommandProcess> {
    if (this.#disposed) throw new Error("The Session has been closed; no command is started any more.");
    const marker = `${hostMark()}.${randomUUID()}`;
    const starting = CommandProcess.start({ command, workdir, variables: this.#variables, marker });
    const settled = starting.then(
      (running) => this.#track(running),
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
    await Promise.all(this.#starting);
    await Promise.all([...this.#running].map((running) => Promise.all([running.end(), running.exited])));
  }

  #track(running: CommandProcess): void {
    this.#running.add(running);
    void running.exited.then(() => this.#running.delete(running));
  }
}
