/** How one run of a life is to go, as it is drawn. */
import type { OmniMessage } from "@coxswain/core";
import type { DiskMood } from "./simulated-disk.ts";
import { markedText } from "./texts.ts";
import type { World } from "./world.ts";

export interface RunPlan {
  kind: "run" | "compact";
  input: OmniMessage[];
  hasApprover: boolean;
  isReaderEager: boolean;
  /** How rarely a reader who is not eager asks: a weight among others. */
  readerWeight: number;
  /** Chances a step. */
  steerRate: number;
  interruptRate: number;
  deathRate: number;
  skipRate: number;
  reportRate: number;
  isSignalFiredBefore: boolean;
  /** After an interrupt nobody answers any more, but for the reader and the disk. */
  isSilentAfterInterrupt: boolean;
  disk: DiskMood;
}

export function drawPlan(world: World, owes: boolean): RunPlan {
  const { choices: random, features } = world;
  const kind = random.chance(0.15) && features.has("compaction") ? "compact" : "run";
  const isContinuation = random.chance(0.3) && owes;
  const input = isContinuation || kind === "compact" ? [] : drawInput(world);
  const rate = (rates: readonly [number, ...number[]], isOn: boolean): number => {
    const drawn = random.pick(rates);
    return isOn ? drawn : 0;
  };
  const isBefore = random.chance(0.02);
  return {
    kind,
    input,
    hasApprover: random.chance(0.96),
    isReaderEager: random.chance(0.6) || !features.has("slow reader"),
    readerWeight: random.pick([1, 4, 12]),
    steerRate: rate([0, 0, 0.03, 0.15, 0.4], features.has("steering")),
    interruptRate: rate([0, 0, 0, 0.02, 0.06], features.has("interrupts")),
    deathRate: rate([0, 0, 0, 0.01, 0.04], features.has("deaths")),
    skipRate: rate([0, 0.3], true),
    reportRate: rate([0, 0, 0.02, 0.1], features.has("background work")),
    isSignalFiredBefore: isBefore && features.has("interrupts"),
    isSilentAfterInterrupt: random.chance(0.5),
    disk: drawMood(world),
  };
}

function drawInput(world: World): OmniMessage[] {
  const { choices: random, build } = world;
  const input: OmniMessage[] = [build.userText(drawWords(world, "u").text)];
  if (random.chance(0.15)) input.push(build.userText(drawWords(world, "u").text));
  if (random.chance(0.1)) input.push(build.userImage("data:image/png;base64,AA=="));
  if (random.chance(0.05)) input.push(build.userText(""));
  return input;
}

/** @param kind `u`: given to a run; `s`: said in the middle of one; `b`: reported by background work. */
export function drawWords(world: World, kind: "u" | "s" | "b"): { mark: string; text: string } {
  const mark = `«${kind}${world.nextNumber()}»`;
  const [first, ...others] = world.own.prompts ?? [];
  if (first === undefined) return { mark, text: markedText(world.choices, mark) };
  return { mark, text: `${world.choices.pick([first, ...others])} ${mark}` };
}

function drawMood({ choices: random, features }: World): DiskMood {
  const never = Number.POSITIVE_INFINITY;
  const isSlow = random.chance(0.25);
  const takesBatches = random.chance(0.7);
  const refuses = random.chance(0.12);
  const hangs = random.chance(0.04);
  const dies = random.chance(0.12);
  const writesBefore = random.int(0, 25);
  return {
    isSlow: isSlow && features.has("slow disk"),
    takesBatches,
    writesBeforeRefusing: refuses && features.has("disk faults") ? writesBefore : never,
    refusals: random.int(1, 6),
    writesBeforeHanging: hangs && features.has("disk faults") ? writesBefore : never,
    writesBeforeDeath: dies && features.has("deaths") ? writesBefore : never,
  };
}
