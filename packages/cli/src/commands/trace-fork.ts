/** `cox trace fork`: a new Session from any completed turn of an old one. */
import { exitCodes } from "../exit-code.ts";
import { type AgentChoice, openAgent } from "../open-session.ts";
import { inOneLine } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export interface TraceForkFlags extends AgentChoice {
  turn?: number | undefined;
  context?: number | undefined;
}

/** @returns The exit code. */
export function traceFork(sessionId: string, flags: TraceForkFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => fork(terminal, sessionId, flags));
}

async function fork({ lifetime, screen, stdout }: Terminal, sessionId: string, flags: TraceForkFlags): Promise<number> {
  lifetime.beforeEnd(() => screen.flush());
  const agent = await openAgent(flags);
  const session = await agent.forkSession(sessionId, { turn: flags.turn, context: flags.context });
  lifetime.beforeEnd(() => session.dispose());
  session.onNotice(({ message }) => void screen.line(inOneLine(message)));
  await stdout.write(`${session.id}\n`);
  const { dim } = screen.style;
  await screen.line(dim(`[workspace] ${inOneLine(session.meta.workspace)}`));
  await screen.line(dim(`to go on: cox run --session ${session.id} "…"`));
  return exitCodes.done;
}
