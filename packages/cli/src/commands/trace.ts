/** The command line of `cox trace`. Each of its commands is loaded when it is called. */
import { type Command, Option } from "commander";
import { addAgentOptions } from "../agent-options.ts";
import type { AgentChoice } from "../open-session.ts";
import { count } from "../task-options.ts";
import type { TraceExportFlags } from "./trace-export.ts";
import type { TraceForkFlags } from "./trace-fork.ts";
import type { TraceShowFlags } from "./trace-show.ts";

type End = (code: number) => void;

const fileOrSession = "a Trace file, or the id of a session";

export function addTrace(program: Command, end: End): void {
  const trace = program
    .command("trace")
    .description("look into the record of a session, play it again, branch it, hand it on");
  addShow(trace, end);
  addReplay(trace, end);
  addFork(trace, end);
  addExport(trace, end);
}

function addShow(trace: Command, end: End): void {
  const command = trace
    .command("show")
    .description("what happened, task by task and request by request")
    .argument("<file-or-session-id>", fileOrSession)
    .addOption(new Option("--context <n>", "this model context alone").argParser(count))
    .option("--json", "one line of JSON for each entry")
    .action(async (name: string, flags: TraceShowFlags) => {
      const { traceShow } = await import("./trace-show.ts");
      end(await traceShow(name, flags));
    });
  addAgentOptions(command);
}

function addReplay(trace: Command, end: End): void {
  const command = trace
    .command("replay")
    .description("run it through this version's engine, with its own answers and outputs, and compare")
    .argument("<file-or-session-id>", fileOrSession)
    .addHelpText(
      "after",
      "\nNo model is asked and no tool runs. Exit codes: 0 the same, 1 different, 2 cannot be played.",
    )
    .action(async (name: string, flags: AgentChoice) => {
      const { traceReplay } = await import("./trace-replay.ts");
      end(await traceReplay(name, flags));
    });
  addAgentOptions(command);
}

function addFork(trace: Command, end: End): void {
  const command = trace
    .command("fork")
    .description("a new session from a completed turn of an old one, which stays as it is")
    .argument("<session-id>")
    .addOption(new Option("--turn <n>", "this turn of the context (default: the last)").argParser(count))
    .addOption(new Option("--context <n>", "this model context (default: the newest with a turn)").argParser(count))
    .action(async (sessionId: string, flags: TraceForkFlags) => {
      const { traceFork } = await import("./trace-fork.ts");
      end(await traceFork(sessionId, flags));
    });
  addAgentOptions(command);
}

function addExport(trace: Command, end: End): void {
  const command = trace
    .command("export")
    .description("one file to hand on, without keys, media and your name in paths")
    .argument("<session-id>")
    .option("-o, --out <file>", "where to (default: <session-id>.jsonl here); - is standard output")
    .option("--force", "replace a file that is there")
    .option("--with-media", "keep images and inline data")
    .option("--with-fidelity", "keep the opaque data of providers")
    .addHelpText("after", "\nWhat people, models and tools said stays in it: read it before you hand it on.")
    .action(async (sessionId: string, flags: TraceExportFlags) => {
      const { traceExport } = await import("./trace-export.ts");
      end(await traceExport(sessionId, flags));
    });
  addAgentOptions(command);
}
