import { execCommandTool } from "./command/exec-command.ts";
import { editFileTool } from "./files/edit-file.ts";
import { readFileTool } from "./files/read-file.ts";
import { listFilesTool, searchFilesTool } from "./files/search-tools.ts";
import { writeFileTool } from "./files/write-file.ts";
import type { Tool } from "./tool.ts";

export interface BuiltInToolsOptions {
  /** Milliseconds of one command. Default 120,000. */
  commandTimeoutMs?: number | undefined;
  /** Milliseconds of one call of a file tool. Default 30,000. */
  fileTimeoutMs?: number | undefined;
  /** Characters that the model gets at most. Default: the Environment's. */
  maxOutputLength?: number | undefined;
}

/** The tools that come with Coxswain. They run in a `LocalEnvironment` only. */
export function builtInTools(options: BuiltInToolsOptions = {}): Tool[] {
  const { maxOutputLength } = options;
  const files = { timeoutMs: options.fileTimeoutMs ?? 30_000, maxOutputLength };
  return [
    execCommandTool({ timeoutMs: options.commandTimeoutMs ?? 120_000, maxOutputLength }),
    readFileTool(files),
    editFileTool(files),
    writeFileTool(files),
    listFilesTool(files),
    searchFilesTool(files),
  ];
}
