/** `cox demo`: Tasks on the offline model, on the same path as every other one, what can happen to them, and proof of it. */
import { type ApproveFn, type Session, systemClock } from "@coxswain/core";
import { type ApprovalMode, approvalMode, ToolPermissions } from "../approval.ts";
import { askAtTerminal } from "../ask-at-terminal.ts";
import { Arrivals } from "../demo/arrivals.ts";
import { contradictions } from "../demo/proof.ts";
import { type Scene, scenes } from "../demo/scenes.ts";
import { openDemoSession } from "../demo/session.ts";
import { Stage } from "../demo/stage.ts";
import { summaryLines } from "../demo/summary.ts";
import { tally } from "../demo/tally.ts";
import { readDemoTrace } from "../demo/trace-files.ts";
import { createDemoPlace } from "../demo/workspace.ts";
import { exitCodes } from "../exit-code.ts";
import { pathsOf } from "../open-session.ts";
import type { Screen } from "../output/screen.ts";
import { TextView } from "../output/text-view.ts";
import { showNotices } from "../run-task.ts";
import { stripControls } from "../terminal-text.ts";
import { openTerminal, type Terminal } from "../terminal.ts";

export interface DemoFlags {
  approve?: "ask" | "allow" | "deny" | undefined;
}

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
  const startedAtMs = performance.now();
  const arrivals = new Arrivals();
  const session = await openDemoSession(place, async (prompt) => showSent(screen, arrivals.add(prompt)));
  lifetime.beforeEnd(() => session.dispose());
  showNotices(session, new TextView(screen));
  if (terminal.canAsk) terminal.keyboard.hold();
  const permissions = new ToolPermissions();
  const approve = decideInDemo({ terminal, session, mode, permissions });
  const stage = new Stage({ session, screen, signal, approve, permissions });
  for (const [index, scene] of scenes.entries()) {
    await play(scene, index + 1, stage, screen);
    if (stage.isOver) break;
  }
  const durationMs = performance.now() - startedAtMs;
  // Only what is on disk once the Session has ended counts.
  await session.dispose();
  if (stage.isOver) {
    if (signal.aborted && !screen.answerIsGone) {
      await screen.line(`[demo] stopped; everything is below ${place.root}`);
    }
    return stage.exitCode === exitCodes.done ? exitCodes.interrupted : stage.exitCode;
  }
  const { tracesDir } = pathsOf({ home: place.home });
  const trace = await readDemoTrace(tracesDir, session.id);
  const { steersAccepted } = stage;
  const witnesses = { seen: tally(stage.seen), recorded: tally(trace.messages), arrivals, steersAccepted };
  const wrong = contradictions(witnesses);
  if (wrong.length > 0) {
    await screen.line(screen.style.red(`cox: ${tracesDir} does not say what was seen (${wrong.join("; ")})`));
    return exitCodes.failed;
  }
  const lines = summaryLines({
    witnesses,
    traceFiles: trace.files,
    traceLines: trace.messages.length,
    tracesDir,
    sessionId: session.id,
    place,
    durationMs,
    programPath: process.argv[1],
  });
  for (const line of lines) await screen.answer(`${line}\n`);
  return exitCodes.done;
}

async function play(scene: Scene, position: number, stage: Stage, screen: Screen): Promise<void> {
  const { bold, dim } = screen.style;
  await screen.line(`\n${bold(`== ${position} of ${scenes.length}: ${scene.title} ==`)}`);
  await screen.line(dim(scene.before));
  await scene.play(stage);
  if (!stage.isOver) await screen.line(`[nothing lost] ${scene.after}`);
}

/** What Coxswain itself tells the model, which no view shows. */
async function showSent(screen: Screen, texts: readonly string[]): Promise<void> {
  for (const text of texts) {
    const [first = "", ...others] = stripControls(text).trim().split("\n");
    await screen.line(`${screen.style.bold("[sent]")} ${first}`);
    for (const line of others) await screen.line(screen.style.dim(`    ${line}`));
  }
}

/** What only reads is allowed without a question. */
function decideInDemo(options: {
  terminal: Terminal;
  session: Session;
  mode: ApprovalMode | undefined;
  permissions: ToolPermissions;
}): ApproveFn {
  const { terminal, session, mode, permissions } = options;
  const { screen, keyboard, lifetime } = terminal;
  const asking = askAtTerminal({
    screen,
    keyboard,
    clock: systemClock,
    signal: lifetime.signal,
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
