/** From the options of a command to a Session. */
import { access, constants, stat } from "node:fs/promises";
import { resolve } from "node:path";
import { type Agent, coxswainHome, createAgent, type ProjectPaths, projectPaths, type Session } from "@coxswain/core";
import { CliUsageError } from "./exit-code.ts";
import { checkModelChoice } from "./model-choice.ts";

export interface ProjectChoice {
  project?: string | undefined;
  /** Default: `$COXSWAIN_HOME`, else `~/.coxswain`. */
  home?: string | undefined;
}

export interface AgentChoice extends ProjectChoice {
  agent?: string | undefined;
}

export interface SessionChoice extends AgentChoice {
  /** Default: a new one. */
  session?: string | undefined;
  /** Default: the current directory. */
  workspace?: string | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  /** A YAML file that the offline model, which is then the model, follows. */
  scenario?: string | undefined;
  maxTurns?: number | undefined;
}

/** @throws ConfigError, TraceError, CliUsageError */
export async function openSession(choice: SessionChoice): Promise<Session> {
  const agent = await openAgent(choice, choice.maxTurns);
  if (choice.session !== undefined) return agent.resumeSession(choice.session);
  const workspaceDir = choice.workspace === undefined ? currentDirectory() : resolve(choice.workspace);
  if (choice.scenario !== undefined) {
    if (choice.provider !== undefined && choice.provider !== "offline") {
      throw new CliUsageError(`--scenario is for the offline model, not for ${JSON.stringify(choice.provider)}`);
    }
    return agent.createSession({ workspaceDir, provider: "offline", modelId: await scenarioFile(choice.scenario) });
  }
  if (choice.provider !== "offline") await checkProject(choice);
  await checkModelChoice(projectConfigFile(choice), { provider: choice.provider, modelId: choice.model });
  return agent.createSession({ workspaceDir, provider: choice.provider, modelId: choice.model });
}

/** @throws ConfigError */
export async function openAgent(choice: AgentChoice, maxTurns?: number): Promise<Agent> {
  const home = homeOf(choice);
  await checkHome(home);
  return createAgent({ agentId: choice.agent, projectId: choice.project, home, maxTurns });
}

/** What is named here for the first time, and therefore made; one line each. */
export async function newNames(choice: AgentChoice): Promise<string[]> {
  const { projectDir, agentDir } = pathsOf(choice);
  const { project, agent } = choice;
  if (project !== undefined && !(await isThere(projectDir))) {
    return [`[project] ${JSON.stringify(project)} is new, and is kept in ${projectDir}`];
  }
  if (agent === undefined || (await isThere(agentDir))) return [];
  return [`[agent] ${JSON.stringify(agent)} is new, with settings and sessions of its own in ${agentDir}`];
}

/** @throws CliUsageError when a Project was named that is not there */
export async function checkProject({ project, home }: ProjectChoice): Promise<void> {
  if (project === undefined) return;
  const { projectDir } = pathsOf({ project, home });
  if (await isThere(projectDir)) return;
  throw new CliUsageError(
    `there is no project ${JSON.stringify(project)} in ${homeOf({ home })}; cox models add <provider> <model_id> --project ${project} begins one`,
  );
}

/** @throws ConfigError */
export function pathsOf(choice: AgentChoice): ProjectPaths {
  return projectPaths(homeOf(choice), choice.project, choice.agent);
}

/** @throws ConfigError */
export function projectConfigFile({ project, home }: ProjectChoice): string {
  return pathsOf({ project, home }).projectConfigFile;
}

/** @throws ConfigError */
export function homeOf({ home }: ProjectChoice): string {
  return home === undefined ? coxswainHome(process.env) : resolve(home);
}

async function scenarioFile(name: string): Promise<string> {
  const path = resolve(name);
  const found = await stat(path).catch((error: unknown) => error);
  if (found instanceof Error && "code" in found && (found.code === "ENOENT" || found.code === "ENOTDIR")) {
    throw new CliUsageError(`there is no scenario file ${JSON.stringify(path)}; name a YAML file with --scenario`);
  }
  return path;
}

async function isThere(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function checkHome(home: string): Promise<void> {
  try {
    if (!(await stat(home)).isDirectory()) {
      throw new CliUsageError(`the home ${JSON.stringify(home)} is a file; name a directory with --home`);
    }
    await access(home, constants.R_OK | constants.X_OK);
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    // It is made when it is needed.
    if (error.code === "ENOENT") return;
    throw new CliUsageError(
      `the home ${JSON.stringify(home)} cannot be used (${String(error.code)}); name another with --home`,
    );
  }
}

function currentDirectory(): string {
  try {
    return process.cwd();
  } catch {
    throw new CliUsageError("the current directory is gone; go to another one, or name one with --workspace");
  }
}
