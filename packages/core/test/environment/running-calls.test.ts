import { getEventListeners } from "node:events";
import { ManualClock } from "@coxswain/testing";
import { describe, expect, test } from "vitest";
import { RunningCalls } from "../../src/environment/running-calls.ts";
import "./support.ts";

/** Watching begins in the next turn of the event loop. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    setImmediate(() => setImmediate(resolve));
  });
}

describe("calls that run at once", () => {
  test("share one timer, which wakes for whichever ends first", async () => {
    const clock = new ManualClock();
    const calls = new RunningCalls(clock);
    const slow = calls.begin(undefined, 5_000);
    await nextTurn();
    expect(clock.sleeping).toEqual([5_000]);
    const quick = calls.begin(undefined, 1_000);
    const middle = calls.begin(undefined, 3_000);
    await nextTurn();
    expect(clock.sleeping).toEqual([1_000]);
    clock.advance(1_000);
    await nextTurn();
    expect([quick.cause, middle.cause, slow.cause]).toEqual(["timeout", undefined, undefined]);
    quick.close();
    clock.advance(2_000);
    await nextTurn();
    expect([middle.cause, slow.cause]).toEqual(["timeout", undefined]);
    middle.close();
    clock.advance(2_000);
    await nextTurn();
    expect(slow.cause).toBe("timeout");
    slow.close();
    expect(clock.sleeping).toEqual([]);
  });

  test("sleep no longer once none of them is left, and one that comes later has its own time", async () => {
    const clock = new ManualClock();
    const calls = new RunningCalls(clock);
    const first = calls.begin(undefined, 1_000);
    await nextTurn();
    first.finish();
    expect(clock.sleeping).toEqual([]);
    clock.advance(900);
    const second = calls.begin(undefined, 1_000);
    await nextTurn();
    clock.advance(900);
    await nextTurn();
    expect(second.cause).toBeUndefined();
    clock.advance(100);
    await nextTurn();
    expect(second.cause).toBe("timeout");
    second.close();
  });

  test("share one listener for each signal, and an interrupt stops its own alone", async () => {
    const [mine, other] = [new AbortController(), new AbortController()];
    const calls = new RunningCalls(new ManualClock());
    const a = calls.begin(mine.signal, 1_000);
    const b = calls.begin(mine.signal, 1_000);
    const c = calls.begin(other.signal, 1_000);
    await nextTurn();
    expect(getEventListeners(mine.signal, "abort")).toHaveLength(1);
    a.finish();
    expect(getEventListeners(mine.signal, "abort")).toHaveLength(1);
    mine.abort();
    expect([a.cause, b.cause, c.cause]).toEqual([undefined, "interrupt", undefined]);
    b.close();
    c.close();
    expect(getEventListeners(mine.signal, "abort")).toHaveLength(0);
    expect(getEventListeners(other.signal, "abort")).toHaveLength(0);
  });

  test("that are over before they are watched cost neither timer nor listener", async () => {
    const { signal } = new AbortController();
    const clock = new ManualClock();
    const calls = new RunningCalls(clock);
    calls.begin(signal, 1_000).finish();
    await nextTurn();
    expect(clock.sleeping).toEqual([]);
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
  });

  test("are all stopped when the Environment ends", async () => {
    const calls = new RunningCalls(new ManualClock());
    const watched = calls.begin(undefined, 1_000);
    await nextTurn();
    const begun = calls.begin(undefined, 1_000);
    calls.stopAll();
    expect([watched.cause, begun.cause]).toEqual(["interrupt", "interrupt"]);
    watched.close();
    begun.close();
  });
});
