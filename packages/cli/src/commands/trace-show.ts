/** `cox trace show`: what happened in a Session. */
import { CliUsageError, exitCodes } from "../exit-code.ts";
import type { AgentChoice } from "../open-session.ts";
import { jsonLine } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";
import { accountOf } from "../trace-account/account.ts";
import { linesOf } from "../trace-account/account-lines.ts";
import { openTrace } from "../trace-source.ts";
import { createStyle } from "../output/style.ts";

export interface TraceShowFlags extends AgentChoice {
  /** 1-based. Default: all. */
  context?: number | undefined;
  json?: boolean | undefined;
}

/** @returns The exit code. */
export function traceShow(name: string, flags: TraceShowFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => show(terminal, name, flags));
}

async function show({ lifetime, screen, stdout }: Terminal, name: string, flags: TraceShowFlags): Promise<number> {
  lifetime.beforeEnd(() => screen.flush());
  const { contexts } = await openTrace(flags, name);
  const chosen = contexts.filter(({ context }) => flags.context === undefined || context === flags.context);
  if (chosen.length === 0) {
    const known = contexts.map(({ context }) => context).join(", ");
    throw new CliUsageError(`${name} has no context ${flags.context}, only ${known}`);
  }
  const style = createStyle(stdout.isTerminal, process.env);
  for (const entry of accountOf(chosen)) {
    if (lifetime.signal.aborted) break;
    const lines = flags.json === true ? [jsonLine(entry)] : linesOf(entry, { columns: stdout.columns, style });
    await stdout.write(`${lines.join("\n")}\n`);
  }
  return lifetime.signal.aborted && !stdout.isGone ? exitCodes.interrupted : exitCodes.done;
}
