/** The command line of `cox resume`. */
import type { Command } from "commander";
import { addAgentOptions } from "../agent-options.ts";
import { addTaskOptions } from "../task-options.ts";
import type { ResumeFlags } from "./resume-session.ts";

export function addResume(program: Command, end: (code: number) => void): void {
  const command = program
    .command("resume")
    .description("go on with a session; without an id: with the newest of this directory")
    .argument("[id]", "of a session, whole; what cannot be one is the beginning of the prompt")
    .argument("[prompt...]", "what to say; - stands for standard input")
    .option("-w, --workspace <dir>", "the newest session of that directory instead")
    .action(async (id: string | undefined, words: string[], flags: ResumeFlags) => {
      const { resume } = await import("./resume-session.ts");
      end(await resume(id, words, flags));
    });
  addAgentOptions(addTaskOptions(command));
}
