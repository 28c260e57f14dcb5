import fc from "fast-check";
import { startWireServer } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { generate } from "../support/generate.ts";
import { contextFor, protocols, type WireProtocol } from "../support/streams.ts";
import { endOf, isOver } from "./support/good-end.ts";
import { changedBody, changes } from "./support/noise.ts";
import { essence, piecesAt, problemsOf } from "./support/player.ts";
import { playerOf } from "./support/players.ts";
import { wireFiles } from "./support/wire-files.ts";

/** A failure prints it; set it to look elsewhere. */
const seed = Number(process.env["FUZZ_SEED"] ?? 20_261_201);

const filesOf = (protocol: WireProtocol) => wireFiles.filter((file) => file.protocol === protocol);

/** On a machine that is busy elsewhere hundreds of requests take their time. */
const patience = { timeout: 240_000 };

describe.each(wireFiles)("$name", patience, ({ protocol, body }) => {
  it("says the same however its bytes are split", async () => {
    const player = await playerOf(protocol);
    const whole = await player.play([body]);
    const expectSame = async (offsets: readonly number[]) => {
      const { messages, outcome } = await player.play(piecesAt(body, offsets));
      expect([outcome.status, essence(messages)]).toEqual([whole.outcome.status, essence(whole.messages)]);
    };
    await expectSame(Array.from(body.keys()));
    await fc.assert(fc.asyncProperty(fc.array(fc.nat(body.length), { maxLength: 12 }), expectSame), {
      numRuns: 12,
      seed,
    });
  });

  it.each(protocols.filter((other) => other !== protocol))("is no answer of %s", async (other) => {
    const played = await (await playerOf(other)).play([body]);
    expect(problemsOf(played)).toEqual([]);
    expect(played.outcome.status).not.toBe("completed");
    expect(played.messages.filter(({ payload }) => payload.type === "tool_call")).toEqual([]);
  });
});

describe.each(protocols)("noise in an answer of %s", patience, (protocol) => {
  it("ends it in order, and completes nothing whose end is not good", async () => {
    const player = await playerOf(protocol);
    const input = fc.tuple(fc.constantFrom(...filesOf(protocol)), changes, fc.array(fc.nat(4_000), { maxLength: 4 }));
    await fc.assert(
      fc.asyncProperty(input, async ([file, changed, offsets]) => {
        const body = changedBody(file.body, changed);
        const played = await player.play(piecesAt(body, offsets));
        expect(problemsOf(played)).toEqual([]);
        if (played.outcome.status === "completed") expect([endOf(protocol, body), body.toString()]).toContain("good");
      }),
      { numRuns: protocol === "openai-chat" ? 600 : 200, seed },
    );
  });
});

describe("over loopback", () => {
  it.each(protocols)("%s is cut, broken off and split as it is in memory", async (protocol) => {
    const { body } = filesOf(protocol).find(({ name }) => name.startsWith("good-answer")) ?? { body: Buffer.alloc(0) };
    const ends = Array.from({ length: 12 }, (_, index) => Math.floor((body.length * index) / 12));
    let exchange: Parameters<typeof startWireServer>[0]["exchanges"] = [];
    const server = await startWireServer({ handler: () => exchange?.[0] ?? {} });
    try {
      const llm = await contextFor(protocol, server.url);
      for (const length of ends) {
        const part = body.subarray(0, length);
        exchange = [{ body: part }];
        const cut = await generate(llm);
        expect(problemsOf(cut)).toEqual([]);
        expect([length, cut.outcome.status]).toEqual([
          length,
          endOf(protocol, part) === "good" ? "completed" : "malformed",
        ]);
        if (isOver(protocol, part) || cut.outcome.status === "completed") continue;
        exchange = [{ body: part, end: "destroy" }];
        const broken = await generate(llm);
        expect(problemsOf(broken)).toEqual([]);
        expect([length, broken.outcome.status]).toEqual([length, "timeout"]);
      }
      exchange = [{ body, splitAt: "every-byte" }];
      const split = await generate(llm);
      const { messages } = await (await playerOf(protocol)).play([body]);
      expect([split.outcome.status, essence(split.messages)]).toEqual(["completed", essence(messages)]);
    } finally {
      await server.close();
    }
  });
});
