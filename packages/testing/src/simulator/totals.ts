/** How often what happened, over one life or many. */
import { isPayload } from "@coxswain/core";
import type { Observation } from "./observation.ts";

export const totalNames = [
  "schedules",
  "steps",
  "runs",
  "requests",
  "summary requests",
  "tool runs",
  "allowed",
  "denied",
  "forbidden",
  "undecided for good",
  "steers",
  "steers too late",
  "background reports",
  "reports told to the host",
  "interrupts by signal",
  "interrupts by break",
  "interrupts by return while reading",
  "signals before the run",
  "deaths",
  "torn records",
  "resumes",
  "deaths in a row",
  "compactions by context",
  "compactions by turns",
  "compactions by hand",
  "compactions by discarding",
  "failed compactions",
  "interrupted compactions",
  "overflows",
  "reconnects",
  "skipped waits",
  "failed runs",
  "stops at max turns",
  "adapter faults",
  "empty replies",
  "refused keys",
  "disk refusals",
  "blocked effects",
  "disk hangs",
  "children",
  "notices",
  "cut segments",
  "forks compared",
  "traces played again",
] as const;

export type TotalName = (typeof totalNames)[number];

export type Totals = Record<TotalName, number>;

export function noTotals(): Totals {
  return Object.fromEntries(totalNames.map((name) => [name, 0])) as Totals;
}

export function addTotals(sum: Totals, others: Totals): void {
  for (const name of totalNames) sum[name] += others[name];
}

export function totalsOf(log: readonly Observation[]): Totals {
  const totals = noTotals();
  totals.schedules = 1;
  let hasRunSinceDeath = true;
  for (const seen of log) {
    for (const name of namesOf(seen)) totals[name] += 1;
    if (seen.at === "run") hasRunSinceDeath = true;
    if (seen.at !== "died") continue;
    if (!hasRunSinceDeath) totals["deaths in a row"] += 1;
    hasRunSinceDeath = false;
  }
  return totals;
}

function namesOf(seen: Observation): TotalName[] {
  switch (seen.at) {
    case "step":
      return ["steps"];
    case "process":
      return seen.resumed === undefined ? [] : ["resumes"];
    case "run":
      return ["runs"];
    case "request":
      return seen.purpose === "summary" ? ["requests", "summary requests"] : ["requests"];
    case "tool":
      return ["tool runs"];
    case "decided":
      return seen.answer === "never" ? ["undecided for good"] : [];
    case "steered":
      return [seen.isAccepted ? "steers" : "steers too late"];
    case "reported":
      return ["background reports"];
    case "told host":
      return ["reports told to the host"];
    case "interrupted":
      return [seen.how === "signal before the run" ? "signals before the run" : `interrupts by ${seen.how}`];
    case "died":
      return seen.tornTail ? ["deaths", "torn records"] : ["deaths"];
    case "skipped wait":
      return ["skipped waits"];
    case "disk":
      return seen.is === "hanging" ? ["disk hangs"] : [];
    case "settled":
      if (seen.isKept) return [];
      return seen.blocksEffects ? ["disk refusals", "blocked effects"] : ["disk refusals"];
    case "answered":
      if (seen.outcome === "threw") return ["adapter faults"];
      if (seen.outcome.contextOverflow === true) return ["overflows"];
      if (seen.outcome.status === "auth") return ["refused keys"];
      return seen.outcome.status === "malformed" && seen.outcome.finishReason !== undefined ? ["empty replies"] : [];
    case "landed":
      return namesOfRecord(seen.record);
    default:
      return [];
  }
}

function namesOfRecord(record: Extract<Observation, { at: "landed" }>["record"]): TotalName[] {
  const { payload } = record;
  switch (payload.type) {
    case "approval_decision":
      return [payload.decision === "allow" ? "allowed" : payload.decision === "deny" ? "denied" : "forbidden"];
    case "compaction_begin": {
      const reason = payload.reason === "manual" ? "hand" : payload.reason;
      return payload.mode === "discard"
        ? [`compactions by ${reason}`, "compactions by discarding"]
        : [`compactions by ${reason}`];
    }
    case "compaction_end":
      if (payload.status === "failed") return ["failed compactions"];
      return payload.status === "aborted" ? ["interrupted compactions"] : [];
    case "request_end":
      return payload.retry_in_ms === undefined ? [] : ["reconnects"];
    case "abort":
      return payload.reason ? ["failed runs"] : [];
    case "subagent":
      return ["children"];
    case "notice":
      return ["notices"];
    case "text":
    case "thinking":
    case "tool_call":
      if (isPayload(record, "text") && record.payload.text.startsWith("[reached max turns"))
        return ["stops at max turns"];
      return payload.stop_reason === undefined ? [] : ["cut segments"];
    default:
      return [];
  }
}
