/** From the options of a command to a Session. */
import { access, constants, stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type Agent,
  coxswainHome,
  createAgent,
  FileTraceStore,
  type ProjectPaths,
  projectPaths,
  type Session,
} from "@coxswain/core";
import { CliUsageError } from "./exit-code.ts";

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
    return agent.createSession({ workspaceDir, provider: "offline", modelId: resolve(choice.scenario) });
  }
  return agent.createSession({ workspaceDir, provider: choice.provider, modelId: choice.model });
}

/** @throws ConfigError */
export async function openAgent(choice: AgentChoice, maxTurns?: number): Promise<Agent> {
  const home = homeOf(choice);
  await checkHome(home);
  return createAgent({ agentId: choice.agent, projectId: choice.project, home, maxTurns });
}

/** Absolute path of the newest Trace file of a Session. */
export async function traceFileOf(choice: AgentChoice, sessionId: string): Promise<string> {
  return new FileTraceStore({ tracesDir: pathsOf(choice).tracesDir }).path(sessionId);
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
