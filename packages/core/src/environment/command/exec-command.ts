import { stat } from "node:fs/promises";
import { errnoOf, wordsOf } from "../../shared/error-words.ts";
import { environmentDefaults } from "../defaults.ts";
import { defineTool } from "../define-tool.ts";
import type { Tool, ToolContext, ToolResult } from "../tool.ts";
import { type EnvironmentServices, servicesOf } from "../tool-context.ts";
import { ToolError } from "../tool-error.ts";
import type { Command } from "./command.ts";
import type { CommandSettings } from "./command-registry.ts";
import { lookAt } from "./look-at.ts";
import { watchCommand } from "./watch-command.ts";
import { execYieldTime, yieldTimeMs } from "./yield-time.ts";

interface ExecCommandArguments {
  cmd: string;
  workdir?: string;
  stdin?: boolean;
  yield_time_ms?: number;
  run_in_background?: boolean;
  description?: string;
}

/** A command that fails at once is told as such, also in the background. */
const backgroundMomentMs = 250;
/** How often a command that may not go on in the background, since too many do, asks again. */
const askAgainMs = 1_000;
/** What the end of a stopped command may take before its call answers without it: less than the call is given to settle. */
const endGraceMs = 350;

const description =
  "Runs a shell command (bash) in the Workspace and gives its output, standard error included. " +
  "There is no terminal, no pager and no editor, and standard input is closed unless `stdin` is true: pass what a command would ask for. " +
  "A command that still runs after `yield_time_ms` goes on in the background: you get its process_id for input_command and " +
  "kill_command, and are told when it ends. For servers and other long work use `run_in_background`. " +
  "Do not use `&`: whatever a command leaves running is ended when it exits.";

const parameters = {
  type: "object",
  properties: {
    cmd: { type: "string", description: "The command, as one would type it." },
    workdir: {
      type: "string",
      description: "Where it runs: absolute, or relative to the Workspace. Default: the Workspace.",
    },
    stdin: {
      type: "boolean",
      description: "Keeps standard input open, for input_command to type into. Default: false.",
    },
    yield_time_ms: {
      type: "number",
      description: `How long to wait for its end, in milliseconds. Default ${execYieldTime.usual}, from ${execYieldTime.least} to ${execYieldTime.most}.`,
    },
    run_in_background: { type: "boolean", description: "Does not wait for its end. Default: false." },
    description: { type: "string", description: "One sentence for the person watching: what this does." },
  },
  required: ["cmd"],
  additionalProperties: false,
};

export const execCommandTool: Tool = defineTool<ExecCommandArguments>({
  name: "exec_command",
  description,
  parameters,
  permission: "rw",
  timeoutMs: environmentDefaults.timeoutMs,
  preview: (args, context) => ({
    summary: args.description ?? `Run a shell command${args.run_in_background === true ? " in the background" : ""}.`,
    command: args.cmd,
    workdir: servicesOf(context).files.resolve(args.workdir ?? "."),
  }),
  execute,
});

async function* execute(args: ExecCommandArguments, context: ToolContext): AsyncGenerator<string, ToolResult> {
  const services = servicesOf(context);
  if (args.cmd.trim() === "") throw new ToolError("`cmd` is empty: give the command to run.");
  const workdir = services.files.resolve(args.workdir ?? ".");
  await checkDirectory(workdir);
  const settings: CommandSettings = { command: args.cmd, workdir, takesInput: args.stdin === true };
  if (args.run_in_background === true) {
    const command = await services.commands.background.start(() => started(services, settings));
    return yield* lookAt(command, context, backgroundMomentMs);
  }
  const command = await started(services, settings);
  return yield* inForeground(command, context, yieldTimeMs(args.yield_time_ms ?? execYieldTime.usual, execYieldTime));
}

/** Until it ends, or goes on in the background. A call that is stopped, or that nobody reads any more, ends it. */
async function* inForeground(
  command: Command,
  context: ToolContext,
  yieldMs: number,
): AsyncGenerator<string, ToolResult> {
  const { commands, clock } = servicesOf(context);
  const { signal } = context;
  const end = (): void => void command.process.end();
  signal.addEventListener("abort", end);
  if (signal.aborted) end();
  let isOver = false;
  try {
    for (let isAgain = false; ; isAgain = true) {
      const waitMs = isAgain ? askAgainMs : yieldMs;
      yield* watchCommand(command, { clock, waitMs, isAgain, signal, graceMs: endGraceMs });
      isOver = command.exit !== undefined || (!signal.aborted && commands.background.take(command));
      if (isOver) return commands.background.look(command);
      if (signal.aborted) return { output: command.transcript.takeUnread(), note: "[the command is being ended]" };
    }
  } finally {
    signal.removeEventListener("abort", end);
    if (!isOver) end();
  }
}

async function checkDirectory(path: string): Promise<void> {
  const entry = await stat(path).catch((error: unknown) => {
    if (errnoOf(error) === "ENOENT") {
      throw new ToolError(`\`workdir\` does not exist: ${path}. Make it first, or start in another directory.`);
    }
    // After the comma comes the path.
    const reason = wordsOf(error).split(",")[0];
    throw new ToolError(`\`workdir\` cannot be used (${reason}): ${path}. Start in another directory.`);
  });
  if (!entry.isDirectory())
    throw new ToolError(`\`workdir\` is not a directory: ${path}. Start in the one that holds it.`);
}

async function started({ commands }: EnvironmentServices, settings: CommandSettings): Promise<Command> {
  try {
    return await commands.start(settings);
  } catch (error) {
    if (error instanceof ToolError) throw error;
    if (errnoOf(error) === "E2BIG") {
      throw new ToolError("The command is too long for the system: write it to a file and run the file.");
    }
    throw new ToolError(`The command could not be started: ${wordsOf(error)}`);
  }
}
