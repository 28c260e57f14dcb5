import { stat } from "node:fs/promises";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolLimits, ToolResult } from "../tool.ts";
import { servicesOf } from "../tool-context.ts";
import { ToolError } from "../tool-error.ts";
import { wordsOf } from "../../shared/error-words.ts";
import type { CommandExit } from "./command-process.ts";

interface ExecCommandArguments {
  cmd: string;
  workdir?: string;
  description?: string;
}

const description =
  "Runs a shell command (bash) in the Workspace and gives its output, standard error included. " +
  "Standard input is closed, there is no terminal, no pager and no editor: pass what a command would ask for. " +
  "Whatever the command leaves running in the background is ended when it exits.";

const parameters = {
  type: "object",
  properties: {
    cmd: { type: "string", description: "The command, as one would type it." },
    workdir: {
      type: "string",
      description: "Where it runs: absolute, or relative to the Workspace. Default: the Workspace.",
    },
    description: { type: "string", description: "One sentence for the person watching: what this does." },
  },
  required: ["cmd"],
  additionalProperties: false,
};

export function execCommandTool(limits: ToolLimits): Tool {
  return defineTool<ExecCommandArguments>({
    name: "exec_command",
    description,
    parameters,
    permission: "rw",
    ...limits,
    preview: (args, context) => ({
      summary: args.description ?? "Run a shell command.",
      command: args.cmd,
      workdir: servicesOf(context).files.resolve(args.workdir ?? "."),
    }),
    execute,
  });
}

async function* execute(args: ExecCommandArguments, context: ToolContext): AsyncGenerator<string, ToolResult> {
  const { commands, files } = servicesOf(context);
  if (args.cmd.trim() === "") throw new ToolError("`cmd` is empty: give the command to run.");
  const workdir = files.resolve(args.workdir ?? ".");
  await checkDirectory(workdir);
  const running = await commands.start(args.cmd, workdir).catch((error: unknown) => {
    throw startError(error);
  });
  const end = (): void => void running.end();
  context.signal.addEventListener("abort", end);
  if (context.signal.aborted) end();
  let exited = false;
  try {
    for (let text = await running.read(); text !== undefined; text = await running.read()) yield text;
    const exit = await running.exited;
    exited = true;
    return { output: "", note: exitNote(exit) };
  } finally {
    context.signal.removeEventListener("abort", end);
    if (!exited) end();
  }
}

async function checkDirectory(path: string): Promise<void> {
  const entry = await stat(path).catch(() => undefined);
  if (entry === undefined) throw new ToolError(`\`workdir\` does not exist: ${path}`);
  if (!entry.isDirectory()) throw new ToolError(`\`workdir\` is not a directory: ${path}`);
}

function startError(error: unknown): ToolError {
  const message = wordsOf(error);
  if (message.includes("E2BIG")) {
    return new ToolError("The command is too long for the system: write it to a file and run the file.");
  }
  return new ToolError(`The command could not be started: ${message}`);
}

function exitNote(exit: CommandExit): string {
  const left = exit.leftOver === 1 ? "1 process" : `${exit.leftOver} processes`;
  const lines = [exit.signal === null ? `[exit code: ${exit.code ?? "unknown"}]` : `[ended by signal ${exit.signal}]`];
  if (exit.leftOver > 0) lines.push(`[${left} that the command had left running in the background: ended]`);
  return lines.join("\n");
}
