/** The composition root: the one place that knows the concrete parts. */
import type {
  CompactionSettings,
  EnvironmentInterface,
  LLMInterface,
  SessionSummary,
  TraceStore,
} from "../engine/ports.ts";
import type { CommandSandbox } from "../environment/command/command-sandbox.ts";
import { endOrphanedCommands } from "../environment/command/orphaned-commands.ts";
import type { Tool } from "../environment/tool.ts";
import { coxswainHome, projectPaths } from "../config/home.ts";
import type { Session } from "../session/session.ts";
import { readAgentOptions, readExportOptions, readForkOptions, readSessionOptions } from "./check-options.ts";
import { exportSession, type ExportedSession, type ExportOptions } from "./export-session.ts";
import { type ForkOptions, forkSession } from "./fork-session.ts";
import type { LanguageModel, ModelContext } from "./model-source.ts";
import { createSession, resumeSession, type SessionSetting, traceStoreOf } from "./open-session.ts";

/** What an Environment of one's own is made for. */
export interface EnvironmentContext {
  sessionId: string;
  /** Absolute path. */
  workspaceDir: string;
  /** Absolute path; may not exist yet. */
  scratchpadDir: string;
  tools: Tool[];
  /** What the Project wants around every command; whoever runs commands has to use it. */
  sandbox: CommandSandbox | undefined;
}

export interface AgentOptions {
  /** Default `default_agent`. */
  agentId?: string | undefined;
  /** Default `default_project`. */
  projectId?: string | undefined;
  /** Absolute path. Default `$COXSWAIN_HOME`, else `~/.coxswain`. */
  home?: string | undefined;
  /** Default: the Project's configured model. */
  model?: LanguageModel | ((context: ModelContext) => LLMInterface) | undefined;
  /** Beside the built-in ones; one of the same name takes the place of a built-in one. */
  tools?: Tool[] | undefined;
  /** Instead of the built-in Environment. */
  environment?: ((context: EnvironmentContext) => EnvironmentInterface) | undefined;
  /** Instead of the configured template. */
  systemPrompt?: string | undefined;
  compaction?: Partial<CompactionSettings> | undefined;
  /** -1: no cap. */
  maxTurns?: number | undefined;
  /** `false`: nothing is recorded. Default: files below the home. */
  trace?: false | TraceStore | undefined;
}

export interface CreateSessionOptions {
  /** Default: a new directory of the agent's own. */
  workspaceDir?: string | undefined;
  provider?: string | undefined;
  modelId?: string | undefined;
}

export interface Agent {
  /** @throws ConfigError; UsageError for options that are none */
  createSession(options?: CreateSessionOptions): Promise<Session>;
  /** @throws ConfigError; TraceLockedError while another process has it; TraceError when there is no such Session */
  resumeSession(sessionId: string): Promise<Session>;
  /**
   * A new Session that begins where a turn of another one ended; that one is only read.
   *
   * @throws UsageError when there is no such turn, or for options that are none; ConfigError; TraceError when there is no such Session
   */
  forkSession(sessionId: string, options?: ForkOptions): Promise<Session>;
  /** Its records without keys, media and the user's name, to be handed on. @throws ConfigError, TraceError; UsageError for options that are none */
  exportSession(sessionId: string, options?: ExportOptions): Promise<ExportedSession>;
  /** The Session that was active last comes first. */
  listSessions(): AsyncIterable<SessionSummary>;
}

/** @throws ConfigError when an id or the home is unusable; UsageError for options that are none */
export async function createAgent(given: AgentOptions = {}): Promise<Agent> {
  const options = readAgentOptions(given);
  const home = options.home ?? coxswainHome(process.env);
  const paths = projectPaths(home, options.projectId, options.agentId);
  let orphans: Promise<unknown> | undefined;
  const endOrphans = (): Promise<unknown> => {
    orphans ??= endOrphanedCommands().catch(() => undefined);
    return orphans;
  };
  const setting: SessionSetting = { options, home, paths, endOrphans };
  return {
    createSession: async (sessionOptions = {}) => createSession(setting, readSessionOptions(sessionOptions)),
    resumeSession: (sessionId) => resumeSession(setting, sessionId),
    forkSession: async (sessionId, forkOptions = {}) => forkSession(setting, sessionId, readForkOptions(forkOptions)),
    exportSession: async (sessionId, exportOptions = {}) =>
      exportSession(setting, sessionId, readExportOptions(exportOptions)),
    listSessions: () => traceStoreOf(setting)?.list() ?? nothing(),
  };
}

async function* nothing(): AsyncIterable<never> {}
