import { isPayload, type OmniMessage } from "@coxswain/core";
import { describe, expect, it } from "vitest";
import { allow, ask, collect, expectSound, outline, sent, setUp } from "./support.ts";
import type { Bench } from "./support.ts";

/** Lets every announced wait pass, and gives how long each was. */
async function passWaits(
  bench: Bench,
  run: Promise<OmniMessage[]>,
): Promise<{ stream: OmniMessage[]; waits: number[] }> {
  const waits: number[] = [];
  let isOver = false;
  void run.finally(() => {
    isOver = true;
  });
  const ended = run.then(() => undefined);
  while (!isOver) {
    const ms = await Promise.race([bench.clock.nextSleep(), ended]);
    if (ms === undefined) break;
    waits.push(ms);
    bench.clock.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  }
  return { stream: await run, waits };
}

describe("a request that fails on the way", () => {
  it("is sent again with what it had said, and its calls are not run twice", async () => {
    const bench = setUp(
      [
        { text: "First half", calls: [{ name: "a" }], end: "timeout", outcome: { errorMessage: "socket closed" } },
        { text: "whole" },
      ],
      { a: () => "A" },
    );
    const { stream, waits } = await passWaits(bench, collect(bench.engine.run(ask("go"), { approve: allow })));
    expect(waits).toEqual([250]);
    expect(outline(stream)).toContain("request_end timeout retry in 250");
    expect(bench.environment.executed).toHaveLength(1);
    const resent = bench.llm.requests[1]?.newMessages ?? [];
    expect(sent(resent)).toMatchObject([{ text: "go" }, { sender: "harness" }]);
    expect(JSON.stringify(resent[1]?.payload)).toMatch(/\[turn_retried\].*First half.*A.*\[\/turn_retried\]/);
    expect(sent(bench.engine.state.history)).toMatchObject([{ text: "go" }, { sender: "harness" }, { text: "whole" }]);
    expectSound(bench, stream);
  });

  it("is tried five times more, with doubled waits, and then fails in words", async () => {
    const bench = setUp(Array.from({ length: 6 }, () => ({ end: "timeout", outcome: { errorMessage: "HTTP 503" } })));
    const { stream, waits } = await passWaits(bench, collect(bench.engine.run(ask("go"))));
    expect(waits).toEqual([250, 500, 1000, 2000, 4000]);
    expect(outline(stream).slice(-2)).toEqual(["request_end failed", "abort gave up after 6 attempts: HTTP 503"]);
    expectSound(bench, stream);
    expect(sent(bench.engine.state.carryOver)).toMatchObject([{ text: "go" }]);
  });

  it.each([
    [3_000, 3_000],
    [10_800_000, 30_000],
    [Number.NaN, 250],
    [-1, 250],
  ])("waits as the provider asks (%d ms), within bounds", async (retryAfterMs, expected) => {
    const bench = setUp([{ end: "timeout", outcome: { retryAfterMs } }, { text: "ok" }]);
    const { stream, waits } = await passWaits(bench, collect(bench.engine.run(ask("go"))));
    expect(waits).toEqual([expected]);
    expect(outline(stream)).toContain(`request_end timeout retry in ${expected}`);
  });

  it("gives up on empty answers after two retries", async () => {
    const empty = { end: "malformed", outcome: { finishReason: "stop", errorMessage: "an empty answer" } } as const;
    const bench = setUp([empty, empty, empty, { text: "never asked for" }]);
    const { stream } = await passWaits(bench, collect(bench.engine.run(ask("go"))));
    expect(bench.llm.requests).toHaveLength(3);
    expect(outline(stream).at(-1)).toBe("abort gave up after 3 attempts: an empty answer");
  });

  it("is not tried again when the key is refused", async () => {
    const bench = setUp([{ end: "auth", outcome: { errorMessage: "the key was refused" } }, { text: "ok" }]);
    const stream = await collect(bench.engine.run(ask("go")));
    expect(outline(stream).slice(-2)).toEqual(["request_end auth", "abort the key was refused"]);
    expect(bench.llm.requests).toHaveLength(1);
    expectSound(bench, stream);
  });

  it("withdraws calls that nobody decided before the wait was over", async () => {
    let answer: ((decision: "allow") => void) | undefined;
    const bench = setUp([{ calls: [{ name: "a" }], end: "timeout" }, { text: "ok" }], { a: () => "A" });
    const approve = (): Promise<"allow"> =>
      new Promise((resolve) => {
        answer = resolve;
      });
    const { stream } = await passWaits(bench, collect(bench.engine.run(ask("go"), { approve })));
    answer?.("allow");
    await new Promise((resolve) => setImmediate(resolve));
    expect(bench.environment.executed).toEqual([]);
    expect(outline(stream).some((line) => line.startsWith("allow"))).toBe(false);
    expectSound(bench, stream);
  });

  it("goes out at once when a person skips the wait", async () => {
    const bench = setUp([{ end: "timeout" }, { text: "ok" }]);
    const run = collect(bench.engine.run(ask("go")));
    await bench.clock.nextSleep();
    expect(bench.engine.skipReconnectWait()).toBe(true);
    expect(outline(await run).at(-1)).toBe("request_end completed");
    expect(bench.engine.skipReconnectWait()).toBe(false);
    expect(bench.clock.sleeping).toEqual([]);
  });

  it.each([
    ["", {}],
    [", also when tokens were counted", { usage: { input: 1, cache_read: 0, cache_write: 0, output: 0, total: 1 } }],
  ])("goes out at once when a reader skips the wait in the moment in which he hears of it%s", async (_, outcome) => {
    const bench = setUp([{ end: "timeout", outcome }, { text: "ok" }]);
    const answers: boolean[] = [];
    const stream: OmniMessage[] = [];
    for await (const message of bench.engine.run(ask("go"))) {
      stream.push(message);
      if (!isPayload(message, "request_end") || message.payload.retry_in_ms === undefined) continue;
      answers.push(bench.engine.skipReconnectWait(), bench.engine.skipReconnectWait());
    }
    expect(answers).toEqual([true, false]);
    expect(outline(stream).at(-1)).toBe("request_end completed");
    expect(bench.clock.sleeping).toEqual([]);
    expectSound(bench, stream);
  });

  it("of a compaction goes out at once when a reader skips the wait as soon as he hears of it", async () => {
    const compaction = { maxContextLength: 0, maxSessionTurns: -1, mode: "summarize", prompt: "Summarize." } as const;
    const bench = setUp(
      [{ text: "a" }, { end: "timeout" }, { text: "short" }],
      {},
      { compaction, createLLM: () => bench.llm },
    );
    const stream = await collect(bench.engine.run(ask("go")));
    for await (const message of bench.engine.compact()) {
      stream.push(message);
      if (isPayload(message, "request_end") && message.payload.retry_in_ms !== undefined) {
        expect(bench.engine.skipReconnectWait()).toBe(true);
      }
    }
    expect(outline(stream).at(-1)).toBe("compaction_end completed");
    expectSound(bench, stream);
  });

  it("has no wait any more that could be skipped once it is interrupted", async () => {
    const bench = setUp([{ end: "timeout" }, { text: "ok" }]);
    const controller = new AbortController();
    for await (const message of bench.engine.run(ask("go"), { signal: controller.signal })) {
      if (!isPayload(message, "request_end")) continue;
      controller.abort();
      expect(bench.engine.skipReconnectWait()).toBe(false);
    }
    expect(bench.engine.skipReconnectWait()).toBe(false);
    expect(bench.clock.sleeping).toEqual([]);
  });

  it("counts tokens of attempts that failed", async () => {
    const usage = { input: 100, cache_read: 0, cache_write: 0, output: 1, total: 101 };
    const bench = setUp([{ end: "timeout", outcome: { usage } }, { text: "ok" }]);
    const { stream } = await passWaits(bench, collect(bench.engine.run(ask("go"))));
    const counted = stream.filter((message) => isPayload(message, "token_usage"));
    expect(counted.map((message) => message.payload)).toMatchObject([
      { session: { total: 101 }, request: { total: 101 } },
      { session: { total: 116 }, request: { total: 15 } },
    ]);
    expect(bench.engine.state.lastRequestTotal).toBe(15);
  });
});
