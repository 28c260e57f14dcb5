/** `cox resume`: shows where a Session stands, and goes on with it. */
import { realpath } from "node:fs/promises";
import { resolve } from "node:path";
import type { Agent, Session } from "@coxswain/core";
import { approvalMode } from "../approval.ts";
import { readLine } from "../read-line.ts";
import { CliUsageError, exitCodes } from "../exit-code.ts";
import { homeOf, openAgent } from "../open-session.ts";
import { readPrompt } from "../prompt-text.ts";
import { nextQuestion, owedLines, recentLines, undeliveredLines } from "../session-standing.ts";
import { inOneLine } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";
import { traceStore } from "../trace-source.ts";
import { type RunFlags, runInSession } from "./run.ts";

export type ResumeFlags = Omit<RunFlags, "session" | "model" | "provider" | "scenario">;

const sessionId = /^session-\d{4}-/;
/** What is left of an id that was mistyped, or given in part. */
const pieceOfId = /^(?:session-.*|[0-9a-f-]*\d[0-9a-f-]*)$/i;

/** @returns The exit code. */
export function resume(first: string | undefined, words: readonly string[], flags: ResumeFlags): Promise<number> {
  const terminal = openTerminal();
  const isId = first !== undefined && (sessionId.test(first) || (words.length === 0 && pieceOfId.test(first)));
  const rest = isId || first === undefined ? words : [first, ...words];
  return terminal.lifetime.run(() => goOn(terminal, isId ? first : undefined, rest, flags));
}

async function goOn(
  terminal: Terminal,
  given: string | undefined,
  words: readonly string[],
  flags: ResumeFlags,
): Promise<number> {
  const { lifetime, screen, stdin, keyboard, canAsk } = terminal;
  const { signal } = lifetime;
  lifetime.beforeEnd(() => screen.flush());
  approvalMode(flags.approve, canAsk);
  const agent = await openAgent(flags, flags.maxTurns);
  const id = given ?? (await newestSession(agent, flags));
  const session = await agent.resumeSession(id);
  lifetime.beforeEnd(() => session.dispose());
  const isOwed = await showStanding(terminal, session, flags);
  let prompt: string | undefined = await readPrompt({ args: words, stdin, status: screen, signal });
  if (prompt === "" && words.length === 0 && canAsk) {
    await screen.line(screen.style.bold(nextQuestion(isOwed)));
    prompt = await readLine(stdin, signal);
  }
  if (signal.aborted || prompt === undefined) return exitCodes.interrupted;
  if (canAsk) keyboard.hold();
  return runInSession(terminal, session, prompt, { ...flags, session: id });
}

async function newestSession(agent: Agent, flags: ResumeFlags): Promise<string> {
  const wanted = resolve(flags.workspace ?? ".");
  const places = new Set([wanted, await realpath(wanted).catch(() => wanted)]);
  let newest: { sessionId: string; workspace: string } | undefined;
  for await (const summary of agent.listSessions()) {
    if (places.has(summary.workspace)) return summary.sessionId;
    newest ??= summary;
  }
  if (newest === undefined) {
    throw new CliUsageError(`there are no sessions yet in ${homeOf(flags)}; begin one with: cox run "…"`);
  }
  // Never in another directory than the one that was meant.
  throw new CliUsageError(
    `no session works in ${inOneLine(wanted)}; the newest works in ${inOneLine(newest.workspace)}: cox resume ${newest.sessionId}`,
  );
}

/** @returns Whether something is owed. */
async function showStanding({ screen }: Terminal, session: Session, flags: ResumeFlags): Promise<boolean> {
  const { dim, yellow } = screen.style;
  await screen.line(dim(`[session] ${session.id}`));
  const seen = [];
  for await (const message of session.history()) seen.push(message);
  for (const line of recentLines(seen)) await screen.line(line);
  const { messages } = await traceStore(flags).read(session.id);
  const owed = owedLines(messages);
  for (const line of [...owed, ...undeliveredLines(messages)]) await screen.line(yellow(line));
  return owed.length > 0;
}
