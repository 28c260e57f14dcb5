/** From the options of a command to a Session. */
import { access, constants, stat } from "node:fs/promises";
import { resolve } from "node:path";
import {
  type Agent,
  coxswainHome,
  createAgent,
  createLanguageModel,
  FileTraceStore,
  type LanguageModel,
  projectPaths,
  type Session,
  systemClock,
} from "@coxswain/core";
import { CliUsageError } from "./exit-code.ts";

export interface AgentChoice {
  agent?: string | undefined;
  project?: string | undefined;
  /** Default: `$COXSWAIN_HOME`, else `~/.coxswain`. */
  home?: string | undefined;
}

export interface SessionChoice extends AgentChoice {
  /** Default: a new one. */
  session?: string | undefined;
  /** Default: the current directory. */
  workspace?: string | undefined;
  provider?: string | undefined;
  model?: string | undefined;
  /** A file for the offline model, which is then the model. */
  scenario?: string | undefined;
  maxTurns?: number | undefined;
}

/** @throws ConfigError, TraceError, CliUsageError */
export async function openSession(choice: SessionChoice): Promise<Session> {
  const agent = await openAgent(choice, {
    maxTurns: choice.maxTurns,
    model: choice.scenario === undefined ? undefined : await scenarioModel(choice.scenario),
  });
  if (choice.session !== undefined) return agent.resumeSession(choice.session);
  return agent.createSession({
    workspaceDir: choice.workspace === undefined ? currentDirectory() : resolve(choice.workspace),
    provider: choice.provider,
    modelId: choice.model,
  });
}

/** @throws ConfigError */
export async function openAgent(
  choice: AgentChoice,
  more: { maxTurns?: number | undefined; model?: LanguageModel | undefined } = {},
): Promise<Agent> {
  const home = homeOf(choice);
  await checkHome(home);
  return createAgent({ agentId: choice.agent, projectId: choice.project, home, ...more });
}

/** Absolute path of the newest Trace file of a Session. */
export async function traceFileOf(choice: AgentChoice, sessionId: string): Promise<string> {
  const paths = projectPaths(homeOf(choice), choice.project ?? "default_project", choice.agent ?? "default_agent");
  return new FileTraceStore({ tracesDir: paths.tracesDir }).path(sessionId);
}

export function homeOf({ home }: AgentChoice): string {
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

async function scenarioModel(path: string): Promise<LanguageModel> {
  const settings = {
    provider: "offline",
    modelId: "scenario",
    protocol: "offline",
    contextWindow: 0,
    vision: false,
  } as const;
  try {
    return await createLanguageModel(settings, { clock: systemClock, scenarioPath: resolve(path) });
  } catch (error) {
    if (!(error instanceof Error) || !("code" in error)) throw error;
    throw new CliUsageError(
      `the scenario ${JSON.stringify(path)} cannot be read (${String(error.code)}); name a file that exists`,
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
