/** The end of the demo: what happened, and how to see that it did. */
import { basename, relative } from "node:path";
import { shellWord } from "../shell-word.ts";
import type { DemoPlace } from "./workspace.ts";
import { countedThrice, type Witnesses } from "./proof.ts";
import type { Tally } from "./tally.ts";

export interface SummaryParts {
  witnesses: Witnesses;
  traceFiles: string[];
  /** In all of them. */
  traceLines: number;
  /** The directory that they are below, and no others. */
  tracesDir: string;
  sessionId: string;
  place: DemoPlace;
  durationMs: number;
  /** How this program was started. */
  programPath: string | undefined;
}

export function summaryLines(parts: SummaryParts): string[] {
  const { witnesses, traceFiles, traceLines, tracesDir, place } = parts;
  const { recorded } = witnesses;
  const byName = Object.entries(recorded.toolCalls).map(([name, calls]) => `${name} ${calls}`);
  return [
    "",
    "Summary, counted three times, each time apart from the others:",
    row("", "shown", "in the Trace", "reached the model"),
    ...countedThrice(witnesses).map((one) => row(one.what, one.seen, one.recorded, one.reachedModel)),
    "and twice, as it was shown and in the Trace:",
    `  tool calls   ${callsOf(recorded)} (${byName.join(", ")}), up to ${recorded.atOnce} at once`,
    `  tool outputs ${recorded.toolOutputs}, of which ${recorded.failed} failed`,
    `  approvals    ${recorded.allowed} allowed, ${recorded.denied} denied`,
    `  tokens       ${recorded.tokens}, as the offline model estimates them`,
    `  records      ${recorded.records}, and ${traceLines - recorded.records} in the Trace alone: heads of files, and what a compaction is told`,
    `  duration     ${(parts.durationMs / 1000).toFixed(1)} s`,
    ...traceFiles.map((file, index) => `  ${index === 0 ? "trace     " : "          "}   ${file}`),
    "",
    "See for yourself:",
    `  TRACE=${shellWord(tracesDir)}`,
    ...confirmations(recorded, { files: traceFiles.length, lines: traceLines }),
    ...furtherCommands(parts),
    "",
    `Everything is below ${place.root}; to remove it: rm -r ${shellWord(place.root)}`,
  ];
}

function row(what: string, shown: number | string, recorded: number | string, reachedModel: number | string): string {
  const cells = [String(shown).padStart(7), String(recorded).padStart(14), String(reachedModel).padStart(19)];
  return `  ${what.padEnd(32)}${cells.join("")}`;
}

function callsOf({ toolCalls }: Tally): number {
  return Object.values(toolCalls).reduce((sum, one) => sum + one, 0);
}

const lastUsage =
  'node -e \'console.log(require("fs").readFileSync(0, "utf8").trim().split("\\n").map((l) => JSON.parse(l).payload)' +
  '.filter((p) => p.type === "token_usage").pop().session.total)\'';

/** Shell commands with what they print. Quotes inside a text are escaped in the Trace, so these patterns find only fields. */
function confirmations(recorded: Tally, { files, lines }: { files: number; lines: number }): string[] {
  const rows: [filter: string, expected: number, remark?: string][] = [
    ["wc -l", lines],
    [`grep -c '"type":"session_meta"'`, files, "one for each file and model context"],
    [`grep -vc -e '"type":"session_meta"' -e '"sender":"harness"'`, recorded.records],
    [`grep -c '"type":"request_begin"'`, recorded.requests],
    [`grep -c '"retry_in_ms":'`, recorded.reconnects],
    [`grep -c '"text":"\\[turn_retried\\]'`, 0, "sent, never written: it follows from the other records"],
    [`grep -c '"text":"\\[user_steering\\]'`, recorded.steers],
    [`grep -c '"type":"abort"'`, recorded.interrupts],
    [`grep '"type":"compaction_end"' | grep -c '"status":"completed"'`, recorded.compactions],
    [`grep -c '"text":"\\[context_summary\\]'`, recorded.compactions],
    [`grep -c '"type":"tool_call"'`, callsOf(recorded)],
    [`grep -c '"type":"tool_call_output"'`, recorded.toolOutputs],
    [`grep -c '"decision":"allow"'`, recorded.allowed],
    [lastUsage, recorded.tokens],
  ];
  return rows.map(([filter, expected, remark]) => {
    const why = remark === undefined ? "" : ` ${remark}`;
    return `  cat "$TRACE"/*/*.jsonl | ${filter}   # ${expected}${why}`;
  });
}

function furtherCommands({ sessionId, place, programPath, witnesses, traceLines }: SummaryParts): string[] {
  const cox = programCommand(programPath);
  const home = `--home ${shellWord(place.home)}`;
  return [
    `  ${cox} trace show ${sessionId} ${home}`,
    "  # The engine does it all again from the Trace, and must send and write the same:",
    `  ${cox} trace replay ${sessionId} ${home}   # ${witnesses.recorded.requests} requests, ${traceLines} records: the same`,
    `  ${cox} sessions ${home}`,
    `  ${cox} run ${home} --session ${sessionId} "Go on."`,
  ];
}

/** What a person types to start this program again. */
function programCommand(path: string | undefined): string {
  if (path === undefined || basename(path) === "cox") return "cox";
  const shorter = relative(process.cwd(), path);
  return `node ${shellWord(shorter.startsWith("..") ? path : shorter)}`;
}
