/** `cox sessions`: what there is to go on with. */
import type { SessionSummary } from "@coxswain/core";
import { exitCodes } from "../exit-code.ts";
import { type AgentChoice, checkProject, homeOf, openAgent } from "../open-session.ts";
import { cut, inOneLine, jsonLine } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export interface SessionsFlags extends AgentChoice {
  json?: boolean | undefined;
  /** Sessions at most. */
  limit?: number | undefined;
}

/** @returns The exit code. */
export function sessions(flags: SessionsFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => list(terminal, flags));
}

async function list({ lifetime, screen, stdout }: Terminal, flags: SessionsFlags): Promise<number> {
  lifetime.beforeEnd(() => screen.flush());
  const agent = await openAgent(flags);
  await checkProject(flags);
  const limit = flags.limit ?? Number.POSITIVE_INFINITY;
  let shown = 0;
  for await (const summary of agent.listSessions()) {
    if (lifetime.signal.aborted) break;
    if (shown === limit) {
      await screen.line(screen.style.dim(`(more than ${limit}: raise --limit to see them)`));
      break;
    }
    shown += 1;
    const text = flags.json === true ? jsonLine(summary) : asText(summary, stdout.columns).join("\n");
    await stdout.write(`${text}\n`);
  }
  if (shown === 0 && !lifetime.signal.aborted) await screen.line(`there are no sessions yet in ${homeOf(flags)}`);
  return lifetime.signal.aborted && !stdout.isGone ? exitCodes.interrupted : exitCodes.done;
}

/** Short lines, the id first in its own: readable where lines are narrow, and for `grep` and `head`. */
function asText(summary: SessionSummary, columns: number): string[] {
  const lines = [
    summary.sessionId,
    `  ${localTime(summary.lastActiveAt)}  ${inOneLine(`${summary.provider}/${summary.modelId}`)}`,
    `  ${inOneLine(summary.workspace)}`,
  ];
  if (summary.title !== undefined) lines.push(`  ${inOneLine(summary.title)}`);
  return lines.map((line) => cut(line, columns));
}

/** `2026-01-31 12:00`, where the person is. */
function localTime(timestamp: string): string {
  const time = new Date(timestamp);
  if (Number.isNaN(time.getTime())) return inOneLine(timestamp);
  const two = (value: number): string => String(value).padStart(2, "0");
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${date} ${two(time.getHours())}:${two(time.getMinutes())}`;
}
