/** The end of the demo: what happened, and how to see that it did. */
import { basename, relative } from "node:path";
import type { DemoPlace } from "./workspace.ts";
import type { Tally } from "./tally.ts";

export interface SummaryParts {
  tally: Tally;
  traceFile: string;
  sessionId: string;
  place: DemoPlace;
  durationMs: number;
  /** How this program was started. */
  programPath: string | undefined;
}

export function summaryLines(parts: SummaryParts): string[] {
  const { tally, traceFile, place, sessionId } = parts;
  const byName = Object.entries(tally.toolCalls).map(([name, calls]) => `${name} ${calls}`);
  const calls = Object.values(tally.toolCalls).reduce((sum, one) => sum + one, 0);
  const cox = programCommand(parts.programPath);
  return [
    "",
    "Summary, counted while it ran and equal to what the Trace says:",
    `  requests     ${tally.requests}, of which ${tally.reconnects} sent again after a planned fault`,
    `  tool calls   ${calls} (${byName.join(", ")}), up to ${tally.atOnce} at once`,
    `  approvals    ${tally.allowed} allowed, ${tally.denied} denied`,
    `  tokens       ${tally.tokens}, as the offline model estimates them`,
    `  duration     ${(parts.durationMs / 1000).toFixed(1)} s`,
    `  records      ${tally.records}`,
    `  trace        ${traceFile}`,
    "",
    "See for yourself:",
    `  TRACE=${shellWord(traceFile)}`,
    ...confirmations(tally, calls),
    `  ${cox} sessions --home ${shellWord(place.home)}`,
    `  ${cox} run --home ${shellWord(place.home)} --session ${sessionId} "Go on."`,
    "",
    `Everything is below ${place.root}; to remove it: rm -r ${shellWord(place.root)}`,
  ];
}

const countTokens =
  'node -e \'console.log(require("fs").readFileSync(process.argv[1], "utf8").trim().split("\\n").map((l) => JSON.parse(l).payload)' +
  '.filter((p) => p.type === "token_usage").pop().session.total)\'';

function confirmations(tally: Tally, calls: number): string[] {
  const rows: [string, number][] = [
    ["wc -l <", tally.records],
    [`grep -c '"type":"request_begin"'`, tally.requests],
    [`grep -c '"type":"tool_call"'`, calls],
    [`grep -c '"decision":"allow"'`, tally.allowed],
    [countTokens, tally.tokens],
  ];
  return rows.map(([command, expected]) => `  ${command} "$TRACE"   # ${expected}`);
}

/** What a person types to start this program again. */
function programCommand(path: string | undefined): string {
  if (path === undefined || basename(path) === "cox") return "cox";
  const shorter = relative(process.cwd(), path);
  return `node ${shellWord(shorter.startsWith("..") ? path : shorter)}`;
}

function shellWord(text: string): string {
  return /^[\w./:@%+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
