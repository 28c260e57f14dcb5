import { execCommandTool } from "./command/exec-command.ts";
import { inputCommandTool } from "./command/input-command.ts";
import { killCommandTool } from "./command/kill-command.ts";
import { editFileTool } from "./files/edit-file.ts";
import { readFileTool } from "./files/read-file.ts";
import { listFilesTool, searchFilesTool } from "./files/search-tools.ts";
import { writeFileTool } from "./files/write-file.ts";
import type { Tool } from "./tool.ts";

/** The tools that come with Coxswain. They run in a `LocalEnvironment` only. */
export function builtInTools(): Tool[] {
  return [
    execCommandTool,
    inputCommandTool,
    killCommandTool,
    readFileTool,
    editFileTool,
    writeFileTool,
    listFilesTool,
    searchFilesTool,
  ];
}
