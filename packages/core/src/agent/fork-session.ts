/** A new Session that begins where a turn of another one ended. */
import { createBuilders, isSessionMeta, type OmniMessage, type SessionMetaPayload } from "@coxswain/protocol";
import type { RecordedContext, TraceSink } from "../engine/ports.ts";
import { newestUsage, takeUp } from "../engine/replay.ts";
import { readContexts } from "../session/contexts.ts";
import type { Session } from "../session/session.ts";
import { systemClock } from "../shared/system-clock.ts";
import { newSessionId } from "../trace/session-id.ts";
import { TraceError } from "../trace/trace-error.ts";
import { forkPoint } from "./fork-point.ts";
import {
  compose,
  loadConfiguration,
  notice,
  openModel,
  sandboxOf,
  type SessionSetting,
  traceStoreOf,
  warningNotices,
} from "./open-session.ts";
import { checkWorkspace } from "./workspace.ts";

export interface ForkOptions {
  /** 1-based, in the context. Default: the last completed one. */
  turn?: number | undefined;
  /** 1-based. Default: the newest with a completed turn. */
  context?: number | undefined;
}

/**
 * The old Session is only read. What it said up to the turn is copied as it is; each context's `session_meta` is the new
 * Session's, and younger than the copies behind it.
 *
 * @throws UsageError when there is no such turn; ConfigError, TraceError
 */
export async function forkSession(setting: SessionSetting, sessionId: string, options: ForkOptions): Promise<Session> {
  const config = await loadConfiguration(setting);
  const store = traceStoreOf(setting, config);
  if (store === undefined) throw new TraceError("not_found", `no Trace is kept, so ${sessionId} cannot be forked`);
  const recorded: RecordedContext[] = [];
  for await (const context of readContexts(store, sessionId)) recorded.push(context);
  const point = forkPoint(recorded, options.turn, options.context);
  // It holds for all contexts, so that a later one says it too.
  const oldMeta = newestMeta(point.contexts) ?? newestMeta(recorded.map(({ messages }) => messages));
  if (oldMeta === undefined) {
    throw new TraceError("not_found", `the Trace of ${sessionId} does not say what Session it is of`);
  }
  const { workspace, provider, model_id: modelId } = oldMeta.payload;
  await checkWorkspace(workspace, "bring it back to fork this session, or begin a new one");
  const model = await openModel(setting, config, provider, modelId);
  const now = (): number => systemClock.now();
  const build = createBuilders(now);
  const newId = newSessionId(now());
  const sandbox = await sandboxOf(setting, config, { sessionId: newId, workspace });
  const meta = build.sessionMeta({ ...oldMeta.payload, session_id: newId });
  const place = `turn ${point.turn} of context ${point.context}`;
  const origin = build.notice("info", "forked", `forked from ${sessionId} after ${place}`);
  const copies = point.contexts.map((messages) => copyUnder(meta, messages));
  const { missing, state } = takeUp(copies.at(-1) ?? [], { usageBefore: newestUsage(point.contexts), now });
  copies.at(-1)?.push(origin, ...missing);
  const trace = await store.open(newId);
  try {
    await writeContexts(trace, copies);
    const notices = warningNotices([...config.project.warnings, ...model.warnings]);
    const unreadable = recorded.filter(({ skippedLines, tornTail }) => tornTail || skippedLines.length > 0);
    if (unreadable.length > 0) {
      notices.push(notice("trace_damaged", `unreadable lines of ${sessionId} were left out of the fork`));
    }
    return compose(setting, config, { sessionId: newId, model, meta, sandbox, store, trace, state, notices });
  } catch (error) {
    // What went wrong first is told.
    await trace.close().catch(() => undefined);
    throw error;
  }
}

function newestMeta(contexts: readonly OmniMessage[][]): OmniMessage<SessionMetaPayload> | undefined {
  return contexts.flatMap((messages) => messages.find(isSessionMeta) ?? []).at(-1);
}

/** One that lost its own begins with it again: a reader of the fork has nothing to miss. */
function copyUnder(meta: OmniMessage<SessionMetaPayload>, messages: readonly OmniMessage[]): OmniMessage[] {
  const copies = messages.map((message) => (isSessionMeta(message) ? meta : message));
  return copies.some(isSessionMeta) ? copies : [meta, ...copies];
}

async function writeContexts(trace: TraceSink, contexts: readonly OmniMessage[][]): Promise<void> {
  for (const [position, messages] of contexts.entries()) {
    if (position > 0) await trace.rotate();
    if (trace.writeAll !== undefined) await trace.writeAll(messages);
    else for (const message of messages) await trace.write(message);
  }
}
