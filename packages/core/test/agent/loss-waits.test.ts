import { isPayload, type OmniMessage } from "@coxswain/core";
import type { WireExchange } from "@coxswain/testing";
import { describe, expect, it } from "vitest";
import { allow, ask, collect, outline } from "../engine/support.ts";
import { answerBody } from "../llm/support/streams.ts";
import { wire } from "./support.ts";
import { announcedWaits, sentTexts, settle, until, wireEngine, type WireEngine } from "./wire-engine.ts";

const good: WireExchange = { body: answerBody("openai-chat", [{ text: "All finished." }]) };

function rateLimit(retryAfter: string): WireExchange {
  return {
    status: 429,
    headers: { "content-type": "application/json", "retry-after": retryAfter },
    body: JSON.stringify({ error: { message: "Rate limit reached", type: "rate_limit_error" } }),
  };
}

/** Answers in turn, and well from then on. */
function inTurn(...answers: readonly WireExchange[]): (request: unknown, index: number) => WireExchange {
  return (_, index) => answers[index] ?? good;
}

async function waitFor({ clock }: WireEngine, ms: number): Promise<void> {
  await until(() => clock.sleeping.includes(ms));
}

/** Nothing comes before the time is over, and then it does. */
async function expectWait(place: WireEngine, ms: number): Promise<void> {
  await waitFor(place, ms);
  const before = place.arrivals.length;
  place.clock.advance(ms - 1);
  await settle();
  expect(place.arrivals).toHaveLength(before);
  place.clock.advance(1);
  await until(() => place.arrivals.length > before);
}

describe("a provider that asks for time", () => {
  it("gets what it asked for each time, as announced, and the Task is done", async () => {
    const place = await wireEngine(inTurn(rateLimit("3"), rateLimit("3")));
    const run = collect(place.engine.run(ask("go")));
    await expectWait(place, 3_000);
    await expectWait(place, 3_000);
    const stream = await run;
    expect(announcedWaits(stream)).toEqual([3_000, 3_000]);
    const [first = 0] = place.arrivals;
    expect(place.arrivals).toEqual([first, first + 3_000, first + 6_000]);
    expect(outline(stream).slice(-2)).toEqual(["token_usage", "request_end completed"]);
    expect(place.clock.sleeping).toEqual([]);
  });

  it.each(["10800", "Thu, 01 Jan 2026 03:00:00 GMT", "1e9", "99999999999999999999"])(
    "cannot ask for longer than the longest wait, or for what is no time: %s",
    async (retryAfter) => {
      const place = await wireEngine(inTurn(rateLimit(retryAfter)));
      const run = collect(place.engine.run(ask("go")));
      await until(() => place.clock.sleeping.length > 0 && place.arrivals.length > 0 && !isRequesting(place));
      const [wait = 0] = place.clock.sleeping;
      expect([250, 30_000]).toContain(wait);
      await expectWait(place, wait);
      expect(announcedWaits(await run)).toEqual([wait]);
    },
  );

  it("is not waited for once a person gives up, and what was asked is not lost", async () => {
    const place = await wireEngine(inTurn(rateLimit("10800")));
    const controller = new AbortController();
    const run = collect(place.engine.run(ask("go"), { signal: controller.signal }));
    await waitFor(place, 30_000);
    controller.abort();
    expect(outline(await run).slice(-2)).toEqual(["request_end timeout retry in 30000", "abort"]);
    expect(place.clock.sleeping).toEqual([]);
    await collect(place.engine.run(ask("again")));
    expect(sentTexts(place.server, 1)).toEqual(["go", "again"]);
  });

  it("is asked at once when a person does not want to wait, and only then", async () => {
    const place = await wireEngine(inTurn(rateLimit("10800"), rateLimit("10800")));
    const run = collect(place.engine.run(ask("go")));
    await waitFor(place, 30_000);
    expect([place.engine.skipReconnectWait(), place.engine.skipReconnectWait()]).toEqual([true, false]);
    await until(() => place.arrivals.length === 2);
    await expectWait(place, 30_000);
    expect(announcedWaits(await run)).toEqual([30_000, 30_000]);
  });

  it("hears what was said to it meanwhile with the next attempt, once", async () => {
    const place = await wireEngine(inTurn(rateLimit("3"), rateLimit("3")));
    const run = collect(place.engine.run(ask("go")));
    await waitFor(place, 3_000);
    expect(place.engine.steer("turn left")).toBe(true);
    await expectWait(place, 3_000);
    await waitFor(place, 3_000);
    expect(place.engine.steer("and right")).toBe(true);
    await expectWait(place, 3_000);
    await run;
    const [left, right] = ["[user_steering]turn left[/user_steering]", "[user_steering]and right[/user_steering]"];
    expect(sentTexts(place.server, 1)).toEqual(["go", left]);
    expect(sentTexts(place.server, 2)).toEqual(["go", left, right]);
    expect(outline(place.trace.records).filter((line) => line.startsWith("user:"))).toEqual([
      "user: go",
      `user: ${left}`,
      `user: ${right}`,
    ]);
  });

  it("is not asked when what was said meanwhile is followed by an interrupt, which gives it back", async () => {
    const place = await wireEngine(inTurn(rateLimit("3")));
    const controller = new AbortController();
    const run = collect(place.engine.run(ask("go"), { signal: controller.signal }));
    await waitFor(place, 3_000);
    place.engine.steer("turn left");
    controller.abort();
    expect(outline(await run).at(-1)).toBe("abort undelivered turn left");
    expect(place.arrivals).toHaveLength(1);
  });

  it("is waited for in a compaction too, within its own number of attempts", async () => {
    const compaction = { maxContextLength: 10, maxSessionTurns: -1, mode: "summarize", prompt: "Sum up." } as const;
    const place = await wireEngine(inTurn(good, rateLimit("3"), rateLimit("3"), rateLimit("3"), rateLimit("3")), {
      engine: { compaction },
    });
    const run = collect(place.engine.run(ask("go")));
    for (let attempt = 1; attempt <= 3; attempt += 1) await expectWait(place, 3_000);
    const stream = await run;
    expect(announcedWaits(stream)).toEqual([3_000, 3_000, 3_000]);
    expect(outline(stream).at(-1)).toBe("compaction_end failed");
    const again = place.engine.run(ask("more"));
    for (let isMore = true; isMore; ) isMore = (await again.next()).done !== true;
    expect(sentTexts(place.server, 5)).toEqual(["go", "All finished.", "more"]);
  });
});

describe("an answer that stops coming", () => {
  it("is a time-out at the limit, as often as attempts are made, and then the Task fails in words", async () => {
    const silent: WireExchange = { ...(await wire("head-then-silence")), end: "hold" };
    const limits = { totalMs: 90_000, firstContentMs: 60_000, idleMs: 50_000 };
    const place = await wireEngine(() => silent, { model: { limits } });
    const stream: OmniMessage[] = [];
    const run = (async () => {
      for await (const message of place.engine.run(ask("go"))) stream.push(message);
    })();
    for (let attempt = 1; attempt <= 6; attempt += 1) {
      await until(() => place.arrivals.length === attempt);
      await settle();
      place.clock.advance(59_999);
      await settle();
      expect(stream.filter((message) => isPayload(message, "request_end"))).toHaveLength(attempt - 1);
      place.clock.advance(1);
      if (attempt < 6) {
        const waitMs = 250 * 2 ** (attempt - 1);
        await waitFor(place, waitMs);
        place.clock.advance(waitMs);
      }
    }
    await run;
    expect(outline(stream).filter((line) => line.startsWith("request_end"))).toEqual([
      ...[250, 500, 1_000, 2_000, 4_000].map((ms) => `request_end timeout retry in ${ms}`),
      "request_end failed",
    ]);
    expect(outline(stream).at(-1)).toMatch(/^abort gave up after 6 attempts: .*first-content limit/);
    expect(place.clock.sleeping).toEqual([]);
  });

  it("does not have the calls of earlier turns run again", async () => {
    const calling: WireExchange = {
      body: answerBody("openai-chat", [{ call: { id: "call_1", name: "a", arguments: "{}" } }], { reason: "calls" }),
    };
    const reset: WireExchange = { ...(await wire("reset-inside-a-call")), end: "destroy" };
    const place = await wireEngine(inTurn(calling, reset, await wire("answer-after-the-reset")), {
      tools: { a: () => "A" },
    });
    const run = collect(place.engine.run(ask("go"), { approve: allow }));
    await expectWait(place, 250);
    const stream = await run;
    expect(place.environment.executed.map(({ payload }) => payload.tool_call_id)).toEqual(["call_1"]);
    const texts = place.engine.state.history.flatMap(({ payload }) =>
      payload.type === "text" && payload.role === "assistant" ? [payload.text] : [],
    );
    expect(texts).toEqual(["Alpha beta gamma delta."]);
    expect(outline(stream)).toContain("call call_dead read_file (timeout)");
    expect(stream.filter((message) => isPayload(message, "approval_decision"))).toHaveLength(1);
    expect(JSON.stringify(place.server.requests.map(({ body }) => body))).not.toContain("call_dead");
  });
});

/** The one who sleeps watches over a request, not over a wait. */
function isRequesting({ clock }: WireEngine): boolean {
  return clock.sleeping.some((ms) => ms > 30_000);
}
