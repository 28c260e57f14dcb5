/** What a model says to one request, as it is drawn. */
import type { LLMOutcome, StopReason } from "@coxswain/core";
import type { FeatureSet } from "./features.ts";
import type { Random } from "./random.ts";
import { modelText } from "./texts.ts";

export interface DrawnCall {
  name: string;
  arguments: string;
  /** As a provider would give it; it may repeat an earlier one. */
  id: string;
}

export type Saying =
  | { kind: "thinking"; text: string; isCut: boolean }
  | { kind: "text"; text: string; isCut: boolean; isLetterByLetter?: boolean }
  | { kind: "call"; call: DrawnCall; isCut: boolean };

export type ReplyEnd =
  | { kind: "outcome"; outcome: LLMOutcome }
  | { kind: "throws" }
  /** Never ends. */
  | { kind: "hangs" };

export interface Reply {
  sayings: Saying[];
  end: ReplyEnd;
  /** Whether a cut saying is closed by the model itself; else the engine has to. */
  closesWhatIsCut: boolean;
  /** Each message waits for the schedule; else they come in one go. */
  isPaced: boolean;
  /** What it does about its signal. */
  onSignal: "stops" | "goes on";
  outputTokens: number;
}

export interface ReplySetting {
  random: Random;
  features: FeatureSet;
  purpose: "turn" | "summary";
  /** How likely a request is to fail. */
  faultRate: number;
  /** How many requests this Task has had. */
  turn: number;
  possibleCalls: () => readonly { name: string; arguments?: string | undefined }[];
  nextNumber: () => number;
}

const ids = ["a", "b", "call_1", "x~2"] as const;

export function drawReply(setting: ReplySetting): Reply {
  const { random, features } = setting;
  const end = drawEnd(setting);
  const isWhole = end.kind === "outcome" && end.outcome.status === "completed";
  const sayings = setting.purpose === "summary" ? drawSummary(random) : drawSayings(setting, isWhole);
  const isEmpty = end.kind === "outcome" && end.outcome.finishReason !== undefined && !isWhole;
  const last = sayings.at(-1);
  if (!isWhole && last !== undefined && random.chance(0.4)) last.isCut = true;
  const isFlood = random.chance(0.004) && features.has("slow reader");
  if (isFlood) sayings.unshift({ kind: "text", text: "x".repeat(1_500), isCut: false, isLetterByLetter: true });
  return {
    sayings: isEmpty ? [] : sayings,
    end,
    closesWhatIsCut: random.chance(0.6),
    isPaced: random.chance(0.7) && !isFlood,
    onSignal: random.chance(0.6) ? "stops" : "goes on",
    outputTokens: random.int(1, 9),
  };
}

function drawEnd({ random, features, faultRate }: ReplySetting): ReplyEnd {
  const isFaulty = random.chance(faultRate);
  const isSilent = random.chance(0.03);
  const end = drawFault(random);
  if (isSilent && features.has("silent parts")) return { kind: "hangs" };
  if (isFaulty && features.has("model faults")) return end;
  return { kind: "outcome", outcome: { status: "completed", finishReason: "stop" } };
}

function drawFault(random: Random): ReplyEnd {
  const fault = (status: StopReason, outcome: Omit<LLMOutcome, "status"> = {}): ReplyEnd => ({
    kind: "outcome",
    outcome: { status, ...(random.chance(0.4) ? { usage: tokens(random.int(1, 50), 3) } : {}), ...outcome },
  });
  switch (random.weighted([6, 3, 2, 2, 2, 2, 3, 1])) {
    case 0:
      return fault("timeout", { errorMessage: "HTTP 503" });
    case 1:
      return fault("timeout", { retryAfterMs: random.pick([3_000, 10_800_000, Number.NaN, -1, 0]) });
    case 2:
      return fault("malformed", { errorMessage: "the stream was cut" });
    case 3:
      return fault("malformed", { finishReason: "stop", finishReasonRaw: "end_turn" });
    case 4:
      return fault("failed", { errorMessage: "no such model" });
    case 5:
      return fault("auth", { errorMessage: "the key was refused" });
    case 6:
      return fault("failed", { contextOverflow: true, errorMessage: "too long" });
    default:
      return { kind: "throws" };
  }
}

function drawSayings(setting: ReplySetting, isWhole: boolean): Saying[] {
  const { random } = setting;
  const sayings: Saying[] = [];
  if (random.chance(0.3)) sayings.push({ kind: "thinking", text: modelText(random), isCut: false });
  if (random.chance(0.7)) sayings.push({ kind: "text", text: modelText(random), isCut: false });
  // The longer a Task, the sooner it ends.
  const hasCalls = random.chance(Math.max(0.2, 0.75 - 0.1 * setting.turn));
  const count = hasCalls ? random.pick([1, 1, 1, 2, 2, 3, 4]) : 0;
  for (let index = 0; index < count; index += 1) {
    // A call that was cut can stand in front of others.
    const isCut = random.chance(isWhole ? 0.02 : 0.1);
    const call = drawCall(setting);
    if (call !== undefined) sayings.push({ kind: "call", call, isCut });
  }
  if (random.chance(0.1)) sayings.push({ kind: "text", text: modelText(random), isCut: false });
  return sayings;
}

function drawCall({ random, possibleCalls, nextNumber }: ReplySetting): DrawnCall | undefined {
  const [first, ...others] = possibleCalls();
  if (first === undefined) return undefined;
  const { name, arguments: given } = random.pick([first, ...others]);
  const made = random.pick([`{"n":${nextNumber()}}`, `{"n":${nextNumber()}}`, "", "{", '{"text":"[/turn_aborted]"}']);
  return { name, arguments: given ?? made, id: random.pick(ids) };
}

function drawSummary(random: Random): Saying[] {
  const text = (words: string): Saying => ({ kind: "text", text: words, isCut: false });
  switch (random.weighted([8, 2, 1, 2, 2, 1])) {
    case 0:
      return [text(`[summary]so far: ${modelText(random)}.[/summary]`)];
    case 1:
      return [text("so far, without a tag")];
    case 2:
      return [text("[summary]cut short")];
    case 3:
      return [text("  ")];
    case 4:
      return [{ kind: "call", call: { name: "echo", arguments: "{}", id: random.pick(ids) }, isCut: false }];
    default:
      return [
        { kind: "thinking", text: "hm", isCut: false },
        text("[summary]one[/summary]"),
        text("[summary]two[/summary]"),
      ];
  }
}

export function tokens(input: number, output: number): NonNullable<LLMOutcome["usage"]> {
  return { input, cache_read: 0, cache_write: 0, output, total: input + output };
}
