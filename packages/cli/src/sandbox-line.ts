/** Says what stands around commands, to whoever decides about them. */
import { loadProjectConfig, type ProjectConfig } from "@coxswain/core";
import { type ProjectChoice, projectConfigFile } from "./open-session.ts";

const words: Readonly<Record<ProjectConfig["sandbox"], string | undefined>> = {
  off: undefined,
  workspace: "commands write only in the Workspace and /tmp",
  strict: "commands write only in the Workspace and /tmp, and have no network",
};

/**
 * `undefined`: nothing does.
 *
 * @throws ConfigError
 */
export async function sandboxLine(choice: ProjectChoice): Promise<string | undefined> {
  const { sandbox } = await loadProjectConfig(projectConfigFile(choice));
  return words[sandbox] && `[sandbox] ${sandbox}: ${words[sandbox]}`;
}
