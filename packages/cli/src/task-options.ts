/** The options of commands that do a Task, and the values that options take. */
import { type Command, InvalidArgumentError, Option } from "commander";
import { thinkingLevels } from "@coxswain/protocol";
import { approvalModes } from "./approval.ts";

export function addTaskOptions(command: Command): Command {
  return command
    .addOption(
      new Option("--approve <mode>", "who decides tool calls (default: ask at a terminal, else deny)").choices(
        approvalModes,
      ),
    )
    .option("--json", "messages as lines of JSON on standard output")
    .addOption(new Option("--max-turns <n>", "requests at most; -1: no cap").argParser(turns))
    .addOption(new Option("--thinking-level <level>", "how much the model thinks").choices(thinkingLevels));
}

function turns(text: string): number {
  const value = Number(text);
  if (value === -1 || (Number.isSafeInteger(value) && value >= 1)) return value;
  throw new InvalidArgumentError("It must be a whole number, 1 or more, or -1 for no cap.");
}

export function count(text: string): number {
  return countUpTo(text, Number.MAX_SAFE_INTEGER);
}

/** Milliseconds as a timer of the platform takes them. */
export function milliseconds(text: string): number {
  return countUpTo(text, 2 ** 31 - 1);
}

function countUpTo(text: string, max: number): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= max) return value;
  const range = max === Number.MAX_SAFE_INTEGER ? ", 1 or more" : ` from 1 to ${max}`;
  throw new InvalidArgumentError(`It must be a whole number${range}.`);
}
