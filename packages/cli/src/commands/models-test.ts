/** `cox models test`: whether a model can do what a Session asks of it, by asking. Nothing is recorded. */
import {
  type LLMInterface,
  loadProjectConfig,
  loadSystemConfig,
  type ModelSourceOptions,
  modelSource,
  systemClock,
} from "@coxswain/core";
import { exitCodes } from "../exit-code.ts";
import { checkModelChoice } from "../model-choice.ts";
import { modelWords } from "../model-words.ts";
import { type TrialStep, tryModel } from "../model-trial.ts";
import { type AgentChoice, checkProject, pathsOf } from "../open-session.ts";
import type { Screen } from "../output/screen.ts";
import { WaitingLine } from "../output/waiting-line.ts";
import { cut, inOneLine, jsonLine } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export interface ModelsTestFlags extends AgentChoice {
  timeoutMs?: number | undefined;
  json?: boolean | undefined;
}

interface NameChoice {
  /** Default: the default model's. */
  provider: string | undefined;
  modelId: string | undefined;
}

const shownAnswer = 300;

/** @returns The exit code. */
export function modelsTest(name: NameChoice, flags: ModelsTestFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => test(terminal, name, flags));
}

async function test({ lifetime, screen, stdout }: Terminal, name: NameChoice, flags: ModelsTestFlags): Promise<number> {
  const { signal } = lifetime;
  lifetime.beforeEnd(() => screen.flush());
  const options = await sourceOptions(name, flags);
  const { provider, modelId, warnings } = await modelSource(options);
  for (const warning of [...options.projectConfig.warnings, ...warnings]) {
    await screen.line(`[warning] ${inOneLine(warning)}`);
  }
  const shown = modelWords({ provider, modelId });
  await screen.line(screen.style.dim(`[test] ${shown}: a short answer, then a tool call and its output`));
  // The offline model begins its scenario anew with each source.
  const open = async ({ systemPrompt }: { systemPrompt: string }): Promise<LLMInterface> =>
    (await modelSource(options)).open({ sessionId: "test", systemPrompt, history: [] });
  const waiting = new WaitingLine(screen);
  const wait = (): void =>
    waiting.start((seconds) => (seconds < 2 ? undefined : `[waiting] for ${seconds} s; Ctrl-C ends it`));
  wait();
  for await (const step of tryModel({ open, signal, now: () => performance.now() })) {
    waiting.stop();
    if (signal.aborted) return exitCodes.interrupted;
    const text = flags.json === true ? jsonLine(step) : stepLines(step, screen).join("\n");
    await stdout.write(`${text}\n`);
    if (step.status === "auth") return exitCodes.auth;
    if (step.status !== "ok") return exitCodes.failed;
    wait();
  }
  waiting.stop();
  return signal.aborted ? exitCodes.interrupted : exitCodes.done;
}

/** As a Session has them. */
async function sourceOptions(name: NameChoice, flags: ModelsTestFlags): Promise<ModelSourceOptions> {
  const paths = pathsOf(flags);
  await checkProject(flags);
  await checkModelChoice(paths.projectConfigFile, name);
  const projectConfig = await loadProjectConfig(paths.projectConfigFile);
  const systemConfig = await loadSystemConfig(paths.systemConfigFile);
  const { timeoutMs } = flags;
  if (timeoutMs !== undefined) {
    systemConfig.model.timeLimits = { totalMs: timeoutMs, firstContentMs: timeoutMs, idleMs: timeoutMs };
  }
  return { ...name, given: undefined, projectConfig, systemConfig, clock: systemClock, env: process.env };
}

function stepLines(step: TrialStep, { style }: Screen): string[] {
  const isOk = step.status === "ok";
  const label = isOk ? style.green("[ok]") : style.red(`[${step.status}]`);
  const lines = [`${label} ${step.step}: ${isOk ? timings(step) : inOneLine(step.error ?? "no reason was given")}`];
  if (!isOk) lines.push(`    ${timings(step)}`);
  const words = inOneLine(step.text);
  if (words !== "") lines.push(`    ${cut(words, shownAnswer)}`);
  for (const call of step.calls) lines.push(`    ${cut(inOneLine(`${call.name} ${call.arguments}`), shownAnswer)}`);
  return lines;
}

function timings({ firstContentMs, totalMs, usage }: TrialStep): string {
  const first = firstContentMs === undefined ? "no content" : `first content after ${seconds(firstContentMs)}`;
  const cached = usage === undefined || usage.cache_read === 0 ? "" : ` (and ${usage.cache_read} cached)`;
  const tokens = usage === undefined ? "tokens not told" : `tokens: ${usage.input} in${cached}, ${usage.output} out`;
  return `${first}, ended after ${seconds(totalMs)}; ${tokens}`;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(2)} s`;
}
