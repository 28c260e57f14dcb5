/** Reads the command line, runs the command, and ends the process. */
import { Command, CommanderError, Option } from "commander";
import { addAgentOptions } from "./agent-options.ts";
import type { DemoFlags } from "./commands/demo.ts";
import type { RunFlags } from "./commands/run.ts";
import { addModels } from "./commands/models.ts";
import { addResume } from "./commands/resume.ts";
import { addTrace } from "./commands/trace.ts";
import type { SessionsFlags } from "./commands/sessions.ts";
import { CliUsageError, errorLine, exitCodeOf, exitCodes } from "./exit-code.ts";
import { addTaskOptions, count } from "./task-options.ts";

/** @param args Without the program's own name. */
export async function main(args: readonly string[], version: string): Promise<void> {
  const code = await runCommand(args, version).catch(tell);
  // Sockets of a provider and an inherited standard input would hold the process.
  process.exit(code);
}

async function runCommand(args: readonly string[], version: string): Promise<number> {
  let code: number = exitCodes.usage;
  const program = createProgram(version, (result) => {
    code = result;
  });
  if (args.length === 0) {
    process.stderr.write(program.helpInformation());
    return code;
  }
  await program.parseAsync([...args], { from: "user" });
  return code;
}

/** @returns The exit code. */
function tell(error: unknown): number {
  if (error instanceof CommanderError) return error.exitCode === 0 ? exitCodes.done : exitCodes.usage;
  if (process.env["COXSWAIN_DEBUG"] === "1" && error instanceof Error) process.stderr.write(`${error.stack}\n`);
  process.stderr.write(`cox: ${errorLine(error)}\n`);
  return exitCodeOf(error);
}

/** So that an error names the help of the command that it was made in. */
function explainErrors(command: Command, path: string): void {
  command.exitOverride((error) => {
    // Help and version have been printed already.
    if (error.exitCode === 0 || error.code === "commander.help") throw error;
    const words = errorLine(error)
      .replace(/^error: /, "")
      .replace(/\.$/, "");
    const isTask = error.code === "commander.unknownCommand" && command.parent === null;
    throw new CliUsageError(`${words}; ${isTask ? 'to give a task, cox run "…"; ' : ""}see ${path} --help`);
  });
  for (const one of command.commands) explainErrors(one, `${path} ${one.name()}`);
}

function createProgram(version: string, end: (code: number) => void): Command {
  const program = new Command("cox")
    .description("An agent that works in your directory, and keeps a record of everything it does.")
    .version(version)
    .configureOutput({ outputError: () => undefined })
    .addHelpText(
      "after",
      "\nExit codes: 0 done, 1 failed, 2 usage, 3 a key is missing or refused, 130 interrupted.\n" +
        "COXSWAIN_HOME names another home than ~/.coxswain; COXSWAIN_DEBUG=1 shows where an error came from.",
    );
  addRun(program, end);
  addDemo(program, end);
  addSessions(program, end);
  addResume(program, end);
  addModels(program, end);
  addTrace(program, end);
  explainErrors(program, "cox");
  return program;
}

function addRun(program: Command, end: (code: number) => void): void {
  const command = program
    .command("run")
    .description("do one task in the current directory")
    .argument("[prompt...]", "what is to be done; - stands for standard input")
    .addOption(new Option("-w, --workspace <dir>", "work there instead").conflicts("session"))
    .option("-s, --session <id>", "go on with a session; without a prompt: with what an interrupt left unsent")
    .addOption(new Option("-m, --model <id>", "a configured model").conflicts("session"))
    .addOption(new Option("--provider <name>", "its provider").conflicts("session"))
    .addOption(
      new Option("--scenario <file>", "let the offline model follow this YAML file").conflicts(["model", "session"]),
    )
    .addHelpText(
      "after",
      "\nThe answer goes to standard output, everything else to standard error.\n" +
        "Standard input is read when there is no prompt, or where a prompt says -: git diff | cox run Review this: -\n" +
        "What is typed at the terminal while the task runs is said to it with its next request.",
    )
    .action(async (words: string[], flags: RunFlags) => {
      const { run } = await import("./commands/run.ts");
      end(await run(words, flags));
    });
  addAgentOptions(addTaskOptions(command));
}

function addDemo(program: Command, end: (code: number) => void): void {
  program
    .command("demo")
    .description("see it work, on the offline model: no key, no network")
    .addOption(
      new Option("--approve <mode>", "who decides (default: ask at a terminal, else the demo itself)").choices([
        "ask",
        "allow",
        "deny",
      ]),
    )
    .action(async (flags: DemoFlags) => {
      const { demo } = await import("./commands/demo.ts");
      end(await demo(flags));
    });
}

function addSessions(program: Command, end: (code: number) => void): void {
  const command = program
    .command("sessions")
    .description("list the sessions, the newest first")
    .option("--json", "one line of JSON for each")
    .addOption(new Option("-n, --limit <n>", "so many at most").argParser(count))
    .action(async (flags: SessionsFlags) => {
      const { sessions } = await import("./commands/sessions.ts");
      end(await sessions(flags));
    });
  addAgentOptions(command);
}
