/** `cox demo`: a Task on the offline model, on the same path as every other one, and proof of it. */
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { type OmniMessage, parseOmniMessage, sessionMeta, userText } from "@coxswain/protocol";
import type { ApproveFn, Session } from "@coxswain/core";
import { type ApprovalMode, approvalMode, type ToolPermissions } from "../approval.ts";
import { askAtTerminal } from "../ask-at-terminal.ts";
import { summaryLines } from "../demo/summary.ts";
import { differences, tally } from "../demo/tally.ts";
import { createDemoPlace } from "../demo/workspace.ts";
import { exitCodes } from "../exit-code.ts";
import { openSession, traceFileOf } from "../open-session.ts";
import { TextView } from "../output/text-view.ts";
import { runTask } from "../run-task.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export interface DemoFlags {
  approve?: "ask" | "allow" | "deny" | undefined;
}

const scenario = fileURLToPath(new URL("../../demo/first-steps.yaml", import.meta.url));
const prompt = "Gather the open points of these notes into one file.";

/** @returns The exit code. */
export function demo(flags: DemoFlags): Promise<number> {
  const terminal = openTerminal();
  return terminal.lifetime.run(() => runDemo(terminal, flags));
}

async function runDemo(terminal: Terminal, flags: DemoFlags): Promise<number> {
  const { lifetime, screen } = terminal;
  const { signal } = lifetime;
  lifetime.beforeEnd(() => screen.flush());
  const mode =
    flags.approve === undefined && !terminal.canAsk ? undefined : approvalMode(flags.approve, terminal.canAsk);
  const place = await createDemoPlace();
  await screen.line(screen.style.dim(`[demo] no key, no network; working in ${place.workspace}`));
  await screen.line(`[prompt] ${prompt}`);
  const startedAtMs = performance.now();
  const session = await openSession({ home: place.home, workspace: place.workspace, scenario });
  lifetime.beforeEnd(() => session.dispose());
  const input = [userText(prompt)];
  const seen: OmniMessage[] = [sessionMeta(session.meta), ...input];
  const outcome = await runTask({
    session,
    input,
    view: new TextView(screen),
    screen,
    signal,
    decider: (permissions) => decideInDemo({ terminal, session, mode, permissions }),
    onMessage: (message) => seen.push(message),
  });
  const durationMs = performance.now() - startedAtMs;
  // Only what is on disk once the Session has ended counts.
  await session.dispose();
  const traceFile = await traceFileOf({ home: place.home }, session.id);
  if (signal.aborted) {
    if (!screen.answerIsGone) await screen.line(`[demo] stopped; everything is below ${place.root}`);
    return outcome.exitCode;
  }
  const counts = tally(seen);
  const wrong = differences(counts, tally(await readTrace(traceFile)));
  const programPath = process.argv[1];
  const lines = summaryLines({ tally: counts, traceFile, sessionId: session.id, place, durationMs, programPath });
  if (wrong.length > 0) {
    await screen.line(screen.style.red(`cox: ${traceFile} does not say what was seen (${wrong.join("; ")})`));
    return exitCodes.failed;
  }
  for (const line of lines) await screen.answer(`${line}\n`);
  return outcome.exitCode;
}

/** What only reads is allowed without a question. */
function decideInDemo(options: {
  terminal: Terminal;
  session: Session;
  mode: ApprovalMode | undefined;
  permissions: ToolPermissions;
}): ApproveFn {
  const { terminal, session, mode, permissions } = options;
  const { screen, stdin, lifetime } = terminal;
  const asking = askAtTerminal({
    screen,
    stdin,
    signal: lifetime.signal,
    interrupt: () => lifetime.interrupt(),
    preview: (toolCall) => session.preview(toolCall),
  });
  return async (toolCall) => {
    if (permissions.isReadOnly(toolCall.payload.name)) return "allow";
    if (mode === "ask") return asking(toolCall);
    const decision = mode === "deny" ? "deny" : "allow";
    const why = mode === undefined ? "there is no terminal to ask at" : `--approve ${mode}`;
    await screen.line(
      screen.style.yellow(
        `[approval] ${toolCall.payload.name} wants to change something; ${why}, so the demo answers itself: ${decision}`,
      ),
    );
    return decision;
  };
}

async function readTrace(path: string): Promise<OmniMessage[]> {
  const lines = (await readFile(path, "utf8")).split("\n").filter((line) => line !== "");
  return lines.map((line) => parseOmniMessage(JSON.parse(line)));
}
