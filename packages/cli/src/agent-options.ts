/** The options that say which agent is meant. */
import type { Command } from "commander";

export function addAgentOptions(command: Command): Command {
  return addProjectOptions(command.option("--agent <id>", "the agent (default: default_agent)"));
}

export function addProjectOptions(command: Command): Command {
  return command
    .option("--project <id>", "the project (default: default_project)")
    .option("--home <dir>", "where configuration and records are (default: $COXSWAIN_HOME, else ~/.coxswain)");
}
