/** What is said of commands. */
import { shortened } from "../../shared/cut.ts";
import { gateText } from "../text/text-gate.ts";
import type { Command, CommandEnd } from "./command.ts";

const maxQuoted = 200;

/** How it ended; told outside the limit of the output. */
export function exitNote(exit: CommandEnd): string {
  const left = exit.leftOver === 1 ? "1 process" : `${exit.leftOver} processes`;
  const lines = [exit.signal === null ? `[exit code: ${exit.code ?? "unknown"}]` : `[ended by signal ${exit.signal}]`];
  if (exit.leftOver > 0) lines.push(`[${left} that the command had left running in the background: ended]`);
  if (exit.replaced !== undefined) lines.push(`[${replacedWords(exit.replaced)}]`);
  return lines.join("\n");
}

export function endWords({ code, signal, afterMs, replaced }: CommandEnd): string {
  const how = signal === null ? `with exit code ${code ?? "unknown"}` : `by signal ${signal}`;
  const words = `ended ${how} after ${durationWords(afterMs)}`;
  return replaced === undefined ? words : `${words}: ${replacedWords(replaced)}`;
}

/** For the person: a moment is enough for a command that waits for it. Whoever named a directory may have named it badly. */
function replacedWords(path: string): string {
  const name = JSON.stringify(path);
  return (
    `something outside of the sandbox replaced ${name} while the command ran, which was kept from the command only until then; ` +
    `the command was ended, and may be started again. Look at what ${name} holds before you use it`
  );
}

export function durationWords(ms: number): string {
  const seconds = Math.max(0, ms) / 1000;
  if (seconds < 60) return `${Number(seconds.toFixed(1))} s`;
  const minutes = Math.floor(seconds / 60);
  const rest = `${Math.floor(seconds % 60)} s`;
  return minutes < 60 ? `${minutes} min ${rest}` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** In one line. What is secret is masked before it could be cut. */
export function commandLine(command: Command, secrets: readonly string[]): string {
  return shortened(
    gateText(command.text, secrets)
      .trim()
      .replace(/[\p{Cc}\p{Z}\s]+/gu, " "),
    maxQuoted,
  );
}
