/** What the Environment gives to the tools that come with it, beside what every tool gets. */
import type { ApproveFn, Clock } from "../engine/ports.ts";
import type { CommandRegistry } from "./command/command-registry.ts";
import type { FileGuard } from "./files/file-guard.ts";
import type { ReadLedger } from "./files/read-ledger.ts";
import type { ToolContext } from "./tool.ts";

export interface EnvironmentServices {
  readonly clock: Clock;
  readonly commands: CommandRegistry;
  readonly files: FileGuard;
  readonly readLedger: ReadLedger;
}

export class LocalToolContext implements ToolContext {
  readonly workspaceDir: string;
  readonly toolCallId: string;
  readonly approve: ApproveFn | undefined;
  readonly services: EnvironmentServices;
  readonly #signal: () => AbortSignal;

  /** @param signal Asked for when a tool first looks at it. */
  constructor(context: Omit<ToolContext, "signal">, signal: () => AbortSignal, services: EnvironmentServices) {
    this.workspaceDir = context.workspaceDir;
    this.toolCallId = context.toolCallId;
    this.#signal = signal;
    this.approve = context.approve;
    this.services = services;
  }

  get signal(): AbortSignal {
    return this.#signal();
  }
}

/** @throws Error when a built-in tool runs in another Environment. */
export function servicesOf(context: ToolContext): EnvironmentServices {
  if (context instanceof LocalToolContext) return context.services;
  throw new Error("This tool runs only in a LocalEnvironment: give it to one, or leave it out.");
}
