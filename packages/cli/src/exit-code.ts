/** What the shell is told, and the one line that a person is told. */
import { inOneLine } from "./terminal-text.ts";

export const exitCodes = { done: 0, failed: 1, usage: 2, auth: 3, interrupted: 130 } as const;

/** Something that was typed, or left out. The message says what to do. */
export class CliUsageError extends Error {
  override readonly name = "CliUsageError";
}

/** Errors of the SDK whose message is meant for the person who typed the command. */
const usageErrors = new Set(["CliUsageError", "UsageError", "TraceError", "TraceLockedError"]);

export function exitCodeOf(error: unknown): number {
  if (!(error instanceof Error)) return exitCodes.failed;
  if (error.name === "ConfigError" && "kind" in error) {
    return error.kind === "auth" ? exitCodes.auth : exitCodes.usage;
  }
  return usageErrors.has(error.name) ? exitCodes.usage : exitCodes.failed;
}

/** One line, without `cox: ` in front. */
export function errorLine(error: unknown): string {
  const words = error instanceof Error ? error.message || error.name : String(error);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "not_found") return inOneLine(`${words}; cox sessions lists those there are`);
  if (code === "missing_key") {
    return inOneLine(`${words}; cox models add <provider> <model_id> asks for it and keeps it there`);
  }
  return inOneLine(words);
}
