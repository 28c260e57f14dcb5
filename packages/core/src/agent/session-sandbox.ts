/** What stands around the commands of a Session, when its Project asks for that. */
import { ConfigError, showValue } from "../config/config-error.ts";
import type { ProjectConfig } from "../config/project-config.ts";
import { type OpenedSandbox, openSandbox } from "../environment/sandbox/open-sandbox.ts";
import { SandboxError } from "../environment/sandbox/sandbox-error.ts";

export interface SandboxPlace {
  /** Absolute, as are all paths here. */
  workspaceDir: string;
  scratchpadDir: string;
  /** With keys and Traces of all Sessions. */
  home: string;
}

/** @throws ConfigError when it cannot be had: it is never left out in silence. */
export async function openSessionSandbox(
  { sandbox: level, path }: ProjectConfig,
  { workspaceDir, scratchpadDir, home }: SandboxPlace,
): Promise<OpenedSandbox | undefined> {
  if (level === "off") return undefined;
  try {
    return await openSandbox({ level, workspaceDir, scratchpadDir, hiddenPaths: [home] });
  } catch (error) {
    if (!(error instanceof SandboxError)) throw error;
    const problem = `sandbox is ${showValue(level)}, but ${error.message}`;
    throw new ConfigError("unsupported", problem, { file: path, cause: error });
  }
}
