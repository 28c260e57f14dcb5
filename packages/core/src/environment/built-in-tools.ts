import { execCommandTool } from "./command/exec-command.ts";
import { inputCommandTool } from "./command/input-command.ts";
import { killCommandTool } from "./command/kill-command.ts";
import { environmentDefaults } from "./defaults.ts";
import { editFileTool } from "./files/edit-file.ts";
import { readFileTool } from "./files/read-file.ts";
import { listFilesTool, searchFilesTool } from "./files/search-tools.ts";
import { writeFileTool } from "./files/write-file.ts";
import type { Tool, ToolLimits } from "./tool.ts";

export interface BuiltInToolsOptions {
  /** Milliseconds of one call that runs a command. Default 120,000. */
  commandTimeoutMs?: number | undefined;
}

/** The tools that come with Coxswain. They run in a `LocalEnvironment` only. */
export function builtInTools(options: BuiltInToolsOptions = {}): Tool[] {
  const files: ToolLimits = { timeoutMs: environmentDefaults.fileToolTimeoutMs };
  return [
    execCommandTool({ timeoutMs: options.commandTimeoutMs ?? environmentDefaults.timeoutMs }),
    inputCommandTool({ timeoutMs: environmentDefaults.inputCommandTimeoutMs }),
    killCommandTool({ timeoutMs: environmentDefaults.killCommandTimeoutMs }),
    readFileTool(files),
    editFileTool(files),
    writeFileTool(files),
    listFilesTool(files),
    searchFilesTool(files),
  ];
}
