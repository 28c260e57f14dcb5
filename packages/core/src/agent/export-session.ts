/** A Session as one list of records that can be handed on. */
import { realpathSync } from "node:fs";
import { homedir, userInfo } from "node:os";
import type { OmniMessage } from "@coxswain/protocol";
import { readContexts } from "../session/contexts.ts";
import { type Scrubbed, Scrubber } from "../trace/scrub.ts";
import { TraceError } from "../trace/trace-error.ts";
import { loadConfiguration, type SessionSetting, traceStoreOf } from "./open-session.ts";

export interface ExportOptions {
  /** Images and inline data stay. */
  media?: boolean | undefined;
  /** Opaque data of providers stays. */
  fidelity?: boolean | undefined;
}

export interface ExportedSession {
  /** All model contexts, one after the other; each begins with its `session_meta`. */
  messages: OmniMessage[];
  /** What was taken out. */
  scrubbed: Scrubbed;
  /** Lines of the Trace that could not be read, and are not in it. */
  unreadableLines: number;
}

/** `PWD` alone is where a shell stands. */
const secretVariable = /(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|_PWD|_PAT)$/i;

/** @throws ConfigError, TraceError */
export async function exportSession(
  setting: SessionSetting,
  sessionId: string,
  options: ExportOptions,
): Promise<ExportedSession> {
  const config = await loadConfiguration(setting);
  const store = traceStoreOf(setting, config);
  if (store === undefined) throw new TraceError("not_found", `no Trace is kept, so ${sessionId} cannot be exported`);
  const scrubber = new Scrubber({
    secrets: [...config.secrets, ...secretVariables(process.env)],
    homes: userHomes(),
    userName: userName(),
    keepMedia: options.media,
    keepFidelity: options.fidelity,
  });
  const messages: OmniMessage[] = [];
  let unreadableLines = 0;
  for await (const context of readContexts(store, sessionId)) {
    for (const message of context.messages) messages.push(scrubber.scrub(message));
    unreadableLines += context.skippedLines.length + (context.tornTail ? 1 : 0);
  }
  return { messages, scrubbed: scrubber.scrubbed, unreadableLines };
}

function secretVariables(env: Readonly<Record<string, string | undefined>>): string[] {
  return Object.entries(env).flatMap(([name, value]) => (secretVariable.test(name) ? (value?.trim() ?? []) : []));
}

function userHomes(): string[] {
  const home = homedir();
  try {
    return [home, realpathSync(home)];
  } catch {
    return [home];
  }
}

/** A user id need not have a name. */
function userName(): string {
  try {
    return userInfo().username;
  } catch {
    return "";
  }
}
