import { environmentDefaults } from "../defaults.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { lookAt } from "./look-at.ts";

interface KillCommandArguments {
  process_id: string;
  description?: string;
}

const description =
  "Ends a command that runs in the background, with all that it has started, and gives the rest of its output.";

const parameters = {
  type: "object",
  properties: {
    process_id: { type: "string", description: "What exec_command gave." },
    description: { type: "string", description: "One sentence for the person watching: why it is ended." },
  },
  required: ["process_id"],
  additionalProperties: false,
};

export const killCommandTool: Tool = defineTool<KillCommandArguments>({
  name: "kill_command",
  description,
  parameters,
  permission: "rw",
  timeoutMs: environmentDefaults.killCommandTimeoutMs,
  preview: (args, context) => {
    const { text, workdir } = servicesOf(context).commands.background.find(args.process_id);
    return { summary: args.description ?? `End the command ${args.process_id}.`, command: text, workdir };
  },
  execute,
});

async function* execute(args: KillCommandArguments, context: ToolContext): AsyncGenerator<string, ToolResult> {
  const { background } = servicesOf(context).commands;
  const command = background.find(args.process_id);
  const isKilled = background.kill(command);
  const result = yield* lookAt(command, context);
  return isKilled ? result : { ...result, note: `[nothing was ended: the command had ended]\n${result.note ?? ""}` };
}
