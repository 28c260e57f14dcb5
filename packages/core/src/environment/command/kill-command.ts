import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolLimits, ToolResult } from "../tool.ts";
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

export function killCommandTool(limits: ToolLimits): Tool {
  return defineTool<KillCommandArguments>({
    name: "kill_command",
    description,
    parameters,
    permission: "rw",
    ...limits,
    preview: (args, context) => {
      const { text, workdir } = servicesOf(context).commands.background.find(args.process_id);
      return { summary: args.description ?? `End the command ${args.process_id}.`, command: text, workdir };
    },
    execute,
  });
}

async function* execute(args: KillCommandArguments, context: ToolContext): AsyncGenerator<string, ToolResult> {
  const { background } = servicesOf(context).commands;
  const command = background.find(args.process_id);
  background.kill(command);
  return yield* lookAt(command, context);
}
