import type { BackgroundReport } from "../../engine/ports.ts";
import { shortened } from "../../shared/cut.ts";
import { gateText } from "../text/text-gate.ts";
import type { Command, CommandEnd } from "./command.ts";
import { commandLine, durationWords, endWords, exitNote } from "./command-words.ts";

/** Characters of output in a report. */
const maxOutputLength = 4000;
const maxCommandLength = 1000;

/** What the model and the person are told when a command in the background has ended by itself. */
export function commandReport(command: Command, exit: CommandEnd, secrets: readonly string[]): BackgroundReport {
  const output = command.transcript.showUnread(maxOutputLength);
  const text = [
    `The background command ${command.id} has ended after ${durationWords(exit.afterMs)}: ${shortened(command.text.trim(), maxCommandLength)}`,
    exitNote(exit),
    ...(output === "" ? ["It has printed nothing since the last look."] : ["Its output since the last look:", output]),
  ].join("\n");
  const summary = `The command ${command.id} (${commandLine(command)}) ${endWords(exit)}.`;
  return { text: gateText(text, secrets), summary: gateText(summary, secrets) };
}
