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
  // Before it is cut: the most of a secret would be left, and no longer known for one.
  const words = gateText(command.text, secrets);
  const text = [
    `The background command ${command.id} has ended after ${durationWords(exit.afterMs)}: ${shortened(words.trim(), maxCommandLength)}`,
    exitNote(exit),
    ...(output === "" ? ["It has printed nothing since the last look."] : ["Its output since the last look:", output]),
  ].join("\n");
  const summary = `The command ${command.id} (${commandLine(command, secrets)}) ${endWords(exit)}.`;
  return { text: gateText(text, secrets), summary: gateText(summary, secrets) };
}
