/** Puts a Session together: a new one, or one that a Trace remembers. */
import {
  createBuilders,
  isSessionMeta,
  type NoticePayload,
  type OmniMessage,
  type SessionMetaPayload,
} from "@coxswain/protocol";
import { ConfigError, nearestName, showValue } from "../config/config-error.ts";
import type { ProjectPaths } from "../config/home.ts";
import { readInstructions } from "../config/instructions.ts";
import { loadProjectConfig, type ProjectConfig } from "../config/project-config.ts";
import { fillPromptTemplate } from "../config/prompt-template.ts";
import { loadSystemConfig, type SystemConfig } from "../config/system-config.ts";
import { ContextEngine } from "../engine/context-engine.ts";
import type { CompactionSettings, EngineState, EnvironmentInterface, TraceSink, TraceStore } from "../engine/ports.ts";
import { takeUp } from "../engine/replay.ts";
import { builtInTools } from "../environment/built-in-tools.ts";
import { LocalEnvironment } from "../environment/local-environment.ts";
import type { OpenedSandbox } from "../environment/sandbox/open-sandbox.ts";
import type { Tool } from "../environment/tool.ts";
import { knownProviders } from "../llm/provider/known-providers.ts";
import { readContexts } from "../session/contexts.ts";
import { keepRecords } from "../session/kept-records.ts";
import { Session } from "../session/session.ts";
import { wordsOf } from "../shared/error-words.ts";
import { systemClock } from "../shared/system-clock.ts";
import { FileTraceStore } from "../trace/file-trace-store.ts";
import { newSessionId } from "../trace/session-id.ts";
import { TraceError } from "../trace/trace-error.ts";
import { checkEnvironment } from "./check-options.ts";
import type { AgentOptions, CreateSessionOptions } from "./create-agent.ts";
import { type ModelSource, modelSource } from "./model-source.ts";
import { openSessionSandbox } from "./session-sandbox.ts";
import { readContextBefore, readMetaBefore } from "./unwritten-input.ts";
import { checkWorkspace, openWorkspace } from "./workspace.ts";

/** An agent's own, over all its Sessions. */
export interface SessionSetting {
  options: AgentOptions;
  home: string;
  paths: ProjectPaths;
  /** What a process of ours that was killed has left running. Works once, however often it is called. */
  endOrphans(): Promise<unknown>;
}

export interface Configuration {
  project: ProjectConfig;
  system: SystemConfig;
  /** Every key that we know of, whether this Session uses it or not. */
  secrets: string[];
}

const keyVariables = Object.values(knownProviders).flatMap((provider) => provider.apiKeyVariable ?? []);

type OpenTrace = TraceSink & { close(): Promise<void> };

/** @throws ConfigError */
export async function createSession(setting: SessionSetting, options: CreateSessionOptions): Promise<Session> {
  const config = await loadConfiguration(setting);
  const model = await openModel(setting, config, options.provider, options.modelId);
  const workspace = await openWorkspace(options.workspaceDir, setting.paths);
  const sessionId = newSessionId(systemClock.now());
  const sandbox = await sandboxOf(setting, config, { sessionId, workspace });
  const prompt = await systemPrompt(setting, config, { sessionId, workspace, modelId: model.modelId });
  const build = createBuilders(() => systemClock.now());
  const meta = build.sessionMeta({
    session_id: sessionId,
    provider: model.provider,
    model_id: model.modelId,
    model_context_window: model.contextWindow,
    system_prompt: prompt.text,
    agent_state: setting.paths.agentStateDir,
    workspace,
  });
  const store = traceStoreOf(setting, config);
  const trace = await store?.open(sessionId);
  return orClosed(trace, async () => {
    const notices = warningNotices([...config.project.warnings, ...model.warnings, ...prompt.warnings]);
    notices.push(...(await writeAtOpening(trace, [meta])));
    return compose(setting, config, { sessionId, model, meta, sandbox, store, trace, state: undefined, notices });
  });
}

/** @throws ConfigError, TraceLockedError, TraceError */
export async function resumeSession(setting: SessionSetting, sessionId: string): Promise<Session> {
  const config = await loadConfiguration(setting);
  const store = traceStoreOf(setting, config);
  if (store === undefined) throw new TraceError("not_found", `no Trace is kept, so ${sessionId} cannot be resumed`);
  const trace = await store.open(sessionId);
  return orClosed(trace, async () => {
    const { messages, tornTail, skippedLines, usageBefore } = await store.read(sessionId);
    const meta = messages.find(isSessionMeta) ?? (await readMetaBefore(store, sessionId));
    if (meta === undefined) {
      throw new TraceError("not_found", `the Trace of ${sessionId} does not say what Session it is of`);
    }
    const { workspace, provider, model_id: modelId } = meta.payload;
    await checkWorkspace(workspace, "bring it back to go on with this session, or begin a new one");
    const model = await openModel(setting, config, provider, modelId);
    const sandbox = await sandboxOf(setting, config, { sessionId, workspace });
    const before = await readContextBefore(store, sessionId, messages);
    const { missing, state } = takeUp(messages, { before, usageBefore, now: () => systemClock.now() });
    const notices = warningNotices([...config.project.warnings, ...model.warnings]);
    notices.push(...(await writeAtOpening(trace, missing)));
    if (tornTail) notices.push(notice("trace_torn", "the last record of this Session was cut and has been dropped"));
    if (skippedLines.length > 0) {
      notices.push(notice("trace_damaged", `unreadable lines of this Session's Trace: ${skippedLines.join(", ")}`));
    }
    return compose(setting, config, { sessionId, model, meta, sandbox, store, trace, state, notices });
  });
}

/** A Session that is not opened holds nothing. */
async function orClosed(trace: OpenTrace | undefined, open: () => Promise<Session>): Promise<Session> {
  try {
    return await open();
  } catch (error) {
    // What went wrong first is told.
    await trace?.close().catch(() => undefined);
    throw error;
  }
}

/** What the disk does not take is held back or lost, as in a Task; a notice says so. */
async function writeAtOpening(trace: TraceSink | undefined, records: readonly OmniMessage[]): Promise<NoticePayload[]> {
  const failures: unknown[] = [];
  for (const record of records) {
    try {
      await trace?.write(record);
    } catch (error) {
      failures.push(error);
    }
  }
  return failures.slice(0, 1).map((error) => ({
    type: "notice",
    level: "error",
    code: "trace_write_failed",
    message: `the record of this Session could not be written (${wordsOf(error)}); free space or restore access to its directory`,
  }));
}

export function traceStoreOf(setting: SessionSetting, config?: Configuration): TraceStore | undefined {
  const { trace } = setting.options;
  if (trace === false) return undefined;
  return (
    trace ??
    new FileTraceStore({
      tracesDir: setting.paths.tracesDir,
      durability: config?.project.durability,
      secrets: config?.secrets,
    })
  );
}

export async function loadConfiguration({ paths }: SessionSetting): Promise<Configuration> {
  const [project, system] = await Promise.all([
    loadProjectConfig(paths.projectConfigFile),
    loadSystemConfig(paths.systemConfigFile),
  ]);
  const keys = [...project.models.map((entry) => entry.apiKey), ...keyVariables.map((name) => process.env[name])];
  return { project, system, secrets: keys.flatMap((key) => key?.trim() ?? []) };
}

export function openModel(
  { options }: SessionSetting,
  { project, system }: Configuration,
  provider: string | undefined,
  modelId: string | undefined,
): Promise<ModelSource> {
  return modelSource({
    given: options.model,
    provider,
    modelId,
    projectConfig: project,
    systemConfig: system,
    clock: systemClock,
    env: process.env,
  });
}

async function systemPrompt(
  { options, paths }: SessionSetting,
  { system }: Configuration,
  about: { sessionId: string; workspace: string; modelId: string },
): Promise<{ text: string; warnings: string[] }> {
  if (options.systemPrompt !== undefined) return { text: options.systemPrompt, warnings: [] };
  const instructions = await readInstructions({ agentStateDir: paths.agentStateDir, workspaceDir: about.workspace });
  const text = fillPromptTemplate(system.systemPrompt, {
    AGENTS_MD: instructions.text,
    PLATFORM: `${process.platform} (${process.arch})`,
    DATE: new Date(systemClock.now()).toISOString().slice(0, 10),
    CWD: about.workspace,
    MODEL_ID: about.modelId,
    SESSION_ID: about.sessionId,
  });
  return { text, warnings: instructions.warnings };
}

/** Before anything is written: a Session that cannot be opened leaves no Trace. */
export function sandboxOf(
  { paths, home }: SessionSetting,
  { project }: Configuration,
  about: { sessionId: string; workspace: string },
): Promise<OpenedSandbox | undefined> {
  const scratchpadDir = paths.scratchpadDir(about.sessionId);
  return openSessionSandbox(project, { workspaceDir: about.workspace, scratchpadDir, home });
}

export interface Pieces {
  sessionId: string;
  model: ModelSource;
  meta: OmniMessage<SessionMetaPayload>;
  sandbox: OpenedSandbox | undefined;
  store: TraceStore | undefined;
  trace: OpenTrace | undefined;
  state: EngineState | undefined;
  notices: NoticePayload[];
}

export function compose(setting: SessionSetting, config: Configuration, pieces: Pieces): Session {
  const { sessionId, model, meta, sandbox, store, trace, state } = pieces;
  const notices = [...pieces.notices, ...(sandbox?.warnings ?? []).map((warning) => notice("sandbox", warning))];
  const prompt = meta.payload.system_prompt;
  const environment = openEnvironment(setting, config, {
    sessionId,
    workspaceDir: meta.payload.workspace,
    sandbox,
  });
  const unrecorded = keepRecords();
  const engine = new ContextEngine({
    llm: model.open({ sessionId, systemPrompt: prompt, history: state?.history ?? [] }),
    createLLM: () => model.open({ sessionId, systemPrompt: prompt, history: [] }),
    environment,
    trace: trace ?? unrecorded.sink,
    clock: systemClock,
    compaction: compactionSettings(config.system.compaction, setting.options.compaction, model),
    sessionMeta: meta,
    initialState: state,
    maxTurns: setting.options.maxTurns ?? config.system.maxTurns,
  });
  return new Session({
    id: sessionId,
    engine,
    meta,
    environment,
    runningCommands: () => (environment instanceof LocalEnvironment ? environment.backgroundCommands() : []),
    clock: systemClock,
    contexts: () => (store === undefined ? unrecorded.contexts() : readContexts(store, sessionId)),
    closeTrace: () => trace?.close(),
    openSideContext: () => model.open({ sessionId, systemPrompt: "", history: [] }),
    notices,
  });
}

function openEnvironment(
  setting: SessionSetting,
  { project, system, secrets }: Configuration,
  about: { sessionId: string; workspaceDir: string; sandbox: OpenedSandbox | undefined },
): EnvironmentInterface {
  const { options, home, paths } = setting;
  const { sessionId, workspaceDir, sandbox } = about;
  const scratchpadDir = paths.scratchpadDir(sessionId);
  const own = options.tools ?? [];
  checkToolNames(system, own);
  const names = new Set(own.map((tool) => tool.definition.name));
  const offered = (tool: Tool): boolean => system.tools?.includes(tool.definition.name) ?? true;
  const tools = [...builtInTools().filter((tool) => offered(tool) && !names.has(tool.definition.name)), ...own];
  if (options.environment !== undefined) {
    const context = { sessionId, workspaceDir, scratchpadDir, tools, sandbox: sandbox?.commands };
    return checkEnvironment(options.environment(context));
  }
  return new LocalEnvironment({
    // No Task waits for it.
    orphansEnded: setting.endOrphans(),
    workspaceDir,
    scratchpadDir,
    tools,
    clock: systemClock,
    forbiddenFiles: project.forbiddenFiles,
    forbiddenPaths: [home, ...(sandbox?.hiddenPaths ?? [])],
    commandPolicy: project.commandDenyRules,
    sandbox: sandbox?.commands,
    writable: sandbox?.writable,
    secrets,
    hiddenVariables: keyVariables,
  });
}

/** @throws ConfigError for a configured name that no tool has */
function checkToolNames(system: SystemConfig, own: readonly Tool[]): void {
  const known = [...builtInTools(), ...own].map((tool) => tool.definition.name);
  const unknown = system.tools?.find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const nearest = nearestName(unknown, known);
  const hint = nearest === undefined ? `there are ${known.join(", ")}` : `did you mean ${nearest}?`;
  throw new ConfigError("invalid_value", `tools holds ${showValue(unknown)}, which is no tool; ${hint}`, {
    file: system.path,
  });
}

/** A context must leave room for one answer, whatever is configured. */
function compactionSettings(
  configured: CompactionSettings,
  given: Partial<CompactionSettings> | undefined,
  { contextWindow, maxOutputTokens }: ModelSource,
): CompactionSettings {
  const named = Object.entries(given ?? {}).filter(([, value]) => value !== undefined);
  const settings: CompactionSettings = { ...configured, ...Object.fromEntries(named) };
  if (contextWindow <= 0 || settings.maxContextLength <= 0) return settings;
  const room = Math.min(maxOutputTokens ?? Number.POSITIVE_INFINITY, contextWindow * 0.2);
  return { ...settings, maxContextLength: Math.min(settings.maxContextLength, Math.floor(contextWindow - room)) };
}

export function warningNotices(warnings: readonly string[]): NoticePayload[] {
  return warnings.map((warning) => notice("configuration", warning));
}

export function notice(code: string, message: string): NoticePayload {
  return { type: "notice", level: "warning", code, message };
}
