/** `cox trace replay`: a Trace run through this version's engine, without a model or tools. */
import { replay } from "@coxswain/testing";
import { exitCodes } from "../exit-code.ts";
import type { AgentChoice } from "../open-session.ts";
import { stripControls } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";
import { openTrace } from "../trace-source.ts";

/** @returns The exit code: 0 the same, 1 different, 2 not to be played. */
export function traceReplay(name: string, flags: AgentChoice): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => play(terminal, name, flags));
}

async function play({ lifetime, screen, stdout }: Terminal, name: string, flags: AgentChoice): Promise<number> {
  lifetime.beforeEnd(() => screen.flush());
  const { contexts } = await openTrace(flags, name);
  const report = await replay(contexts);
  for (const words of report.setAside) await screen.line(stripControls(`[left out] ${words}`));
  await stdout.write(`${stripControls(report.summary)}\n`);
  return { same: exitCodes.done, different: exitCodes.failed, unplayable: exitCodes.usage }[report.outcome];
}
