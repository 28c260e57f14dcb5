import type { OmniMessage } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { complete } from "../support/generate.ts";
import { endOf, isOver } from "./support/good-end.ts";
import { essence, type Played, problemsOf } from "./support/player.ts";
import { playerOf } from "./support/players.ts";
import { type WireFile, wireFiles } from "./support/wire-files.ts";

/** One finding for each cut that went another way; an empty list is the good case. */
interface Finding {
  length: number;
  status: string;
  wanted: string;
  problems: string[];
}

function findingOf(cut: Played, length: number, wanted: string, whole: Played): Finding[] {
  const { status, errorMessage = "" } = cut.outcome;
  const problems = problemsOf(cut);
  if (status === "completed" && essence(cut.messages) !== essence(whole.messages)) problems.push("other messages");
  if (status !== "completed") {
    problems.push(...givenCalls(cut.messages).flatMap((text) => (isObject(text) ? [] : [`a cut call: ${text}`])));
  }
  if (status === wanted && problems.length === 0) return [];
  return [{ length, status: `${status} ${errorMessage}`, wanted, problems }];
}

/** Calls that the reader may have begun to run. */
function givenCalls(messages: readonly OmniMessage[]): string[] {
  return complete(messages).flatMap((payload) =>
    payload.type === "tool_call" && payload.stop_reason === undefined ? [payload.arguments] : [],
  );
}

function isObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === "object" && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function pieces({ body }: WireFile, length: number): Uint8Array[] {
  return length === 0 ? [] : [body.subarray(0, length)];
}

/** `npm test` cuts within lines at every seventh byte, `npm run test:crash` at each. */
const step = Number(process.env["CUT_STEP"] ?? 7);
const isNewline = (byte: number): boolean => byte === 0x0a || byte === 0x0d;
const isInLongCharacter = (byte: number): boolean => byte >= 0x80;

/** Always where a line ends and the next begins, and inside of a character of several bytes. */
function cutsIn(body: Buffer): number[] {
  return Array.from(body.keys()).filter(
    (at) =>
      at % step === 0 ||
      body.subarray(Math.max(0, at - 4), at + 4).some(isNewline) ||
      body.subarray(Math.max(0, at - 1), at + 1).some(isInLongCharacter),
  );
}

const reset = Object.assign(new TypeError("terminated"), {
  cause: Object.assign(new Error("read ECONNRESET"), { code: "ECONNRESET" }),
});

/** At each byte that is a thousand requests and more: on a machine that is busy elsewhere that takes its time. */
const patience = { timeout: 240_000 };

describe.each(wireFiles)("$name", patience, (file) => {
  it("cut at any byte, is complete exactly from its good end on, and leaves nothing behind before", async () => {
    const player = await playerOf(file.protocol);
    const whole = await player.play([file.body]);
    const findings: Finding[] = findingOf(whole, file.body.length, whole.outcome.status, whole);
    for (const length of cutsIn(file.body)) {
      const end = endOf(file.protocol, file.body.subarray(0, length));
      const wanted = end === "good" || end === "broken" ? whole.outcome.status : "malformed";
      findings.push(...findingOf(await player.play(pieces(file, length)), length, wanted, whole));
    }
    expect(findings).toEqual([]);
  });

  it("broken off by the network, is a timeout unless it was over", async () => {
    const player = await playerOf(file.protocol);
    const whole = await player.play([file.body]);
    const findings: Finding[] = [];
    const apart = 41;
    const lengths = Array.from({ length: Math.ceil(file.body.length / apart) }, (_, index) => index * apart);
    for (const length of [...lengths, file.body.length]) {
      const wanted = isOver(file.protocol, file.body.subarray(0, length)) ? whole.outcome.status : "timeout";
      findings.push(...findingOf(await player.play(pieces(file, length), reset), length, wanted, whole));
    }
    expect(findings).toEqual([]);
  });
});

it("recorded answers that name themselves good are completed when they are whole", async () => {
  const good = wireFiles.filter(({ name }) => name.startsWith("good-answer"));
  expect(new Set(good.map(({ protocol }) => protocol)).size).toBe(4);
  for (const { protocol, body } of good) {
    const { outcome } = await (await playerOf(protocol)).play([body]);
    expect([protocol, outcome.status, endOf(protocol, body)]).toEqual([protocol, "completed", "good"]);
  }
});
