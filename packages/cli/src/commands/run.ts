/** `cox run`: one Task in the current directory. */
import { sessionMeta, type ThinkingLevelName, userText } from "@coxswain/protocol";
import { type ApproveFn, type Session, systemClock } from "@coxswain/core";
import { type ApprovalMode, approvalMode, decideBy, ToolPermissions } from "../approval.ts";
import { askAtTerminal } from "../ask-at-terminal.ts";
import { CliUsageError, exitCodes } from "../exit-code.ts";
import { newNames, openSession, type SessionChoice } from "../open-session.ts";
import { JsonView } from "../output/json-view.ts";
import type { StatusLines } from "../output/screen.ts";
import { TextView } from "../output/text-view.ts";
import { readPrompt } from "../prompt-text.ts";
import { runTask, showNotices } from "../run-task.ts";
import { sandboxLine } from "../sandbox-line.ts";
import { undeliveredLines } from "../session-standing.ts";
import { inOneLine } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";
import { traceStore } from "../trace-source.ts";
import { startSteering } from "../typing/steering.ts";

export interface RunFlags extends SessionChoice {
  approve?: ApprovalMode | undefined;
  json?: boolean | undefined;
  thinkingLevel?: ThinkingLevelName | undefined;
}

/** @returns The exit code. */
export function run(words: readonly string[], flags: RunFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => runInTerminal(terminal, words, flags));
}

async function runInTerminal(terminal: Terminal, words: readonly string[], flags: RunFlags): Promise<number> {
  const { lifetime, screen, stdin, keyboard } = terminal;
  const { signal } = lifetime;
  lifetime.beforeEnd(() => screen.flush());
  approvalMode(flags.approve, terminal.canAsk);
  const prompt = await readPrompt({ args: words, stdin, status: screen, signal });
  if (signal.aborted) return exitCodes.interrupted;
  if (prompt === "" && flags.session === undefined) {
    throw new CliUsageError('there is no prompt; give one, such as: cox run "What is in this directory?"');
  }
  if (terminal.canAsk) keyboard.hold();
  const news = await newNames(flags);
  const session = await openSession(flags);
  lifetime.beforeEnd(() => session.dispose());
  for (const line of news) await screen.line(inOneLine(line));
  if (flags.session !== undefined) {
    const { messages } = await traceStore(flags).read(session.id);
    for (const line of undeliveredLines(messages)) await screen.line(screen.style.yellow(line));
  }
  return runInSession(terminal, session, prompt, flags);
}

/**
 * @param prompt Empty: what the Session owes is sent.
 * @returns The exit code.
 */
export async function runInSession(
  { lifetime, screen, keyboard, stdout, canAsk }: Terminal,
  session: Session,
  prompt: string,
  flags: RunFlags,
): Promise<number> {
  const { signal } = lifetime;
  const mode = approvalMode(flags.approve, canAsk);
  const view = flags.json === true ? new JsonView(stdout, screen) : new TextView(screen);
  if (flags.json === true) await view.show(sessionMeta(session.meta));
  else if (flags.session !== undefined && prompt !== "")
    await screen.line(screen.style.dim(`[workspace] ${inOneLine(session.meta.workspace)}`));
  const sandbox = await sandboxLine(flags);
  if (sandbox !== undefined) await screen.line(screen.style.dim(sandbox));
  const ask = askAtTerminal({
    screen,
    keyboard,
    clock: systemClock,
    signal,
    preview: (toolCall) => session.preview(toolCall),
  });
  showNotices(session, view);
  const permissions = new ToolPermissions();
  const decide = decideBy(mode, permissions, ask);
  const steer = (text: string): boolean => session.steer(text);
  const stopSteering = keyboard.isHeld ? startSteering({ keyboard, screen, steer }) : undefined;
  const outcome = await runTask({
    session,
    input: prompt === "" ? [] : [userText(prompt)],
    view,
    screen,
    signal,
    permissions,
    approve: flags.approve === undefined && mode === "deny" ? tellingOnce(screen, decide) : decide,
    thinkingLevel: flags.thinkingLevel,
  }).catch((error: unknown) => {
    throw prompt === "" ? withoutPrompt(error, session.id) : error;
  });
  stopSteering?.();
  if (flags.json !== true && !screen.answerIsGone) {
    await screen.line(screen.style.dim(`[session] ${session.id}`));
    await screen.line(screen.style.dim(`[trace] ${await traceStore(flags).path(session.id)}`));
  }
  return outcome.exitCode;
}

/** Why everything is denied, when nobody has said that it should be. */
function tellingOnce(screen: StatusLines, decide: ApproveFn): ApproveFn {
  let hasTold = false;
  return async (toolCall) => {
    if (!hasTold)
      await screen.line(
        "[approval] there is no terminal to ask at, so calls are denied; --approve read-only or allow permits them",
      );
    hasTold = true;
    return decide(toolCall);
  };
}

function withoutPrompt(error: unknown, sessionId: string): unknown {
  if (!(error instanceof Error) || error.name !== "UsageError") return error;
  return new CliUsageError(`session ${sessionId} has nothing left to send; give a prompt`);
}
