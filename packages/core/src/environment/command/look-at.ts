import type { ToolContext, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import type { Command } from "./command.ts";
import { watchCommand } from "./watch-command.ts";

/**
 * Waits for a command in the background and gives what it has printed since the last look. A call that is stopped only
 * ends the wait: what it has shown stays unread, since nobody knows whether its output arrives.
 *
 * @param waitMs Default: until the command has ended.
 */
export async function* lookAt(
  command: Command,
  context: ToolContext,
  waitMs?: number,
): AsyncGenerator<string, ToolResult> {
  const { commands, clock } = servicesOf(context);
  const leave = commands.background.watch(command);
  try {
    yield* watchCommand(command, { clock, waitMs, signal: context.signal });
    if (!context.signal.aborted) return commands.background.look(command);
    const standing = command.exit === undefined ? "the command goes on" : "the command has ended";
    return { output: "", note: `[only the wait was stopped: ${standing}; process_id: ${command.id}]` };
  } finally {
    leave();
  }
}
