import * as fs from "node:fs";
import type { OmniMessage } from "@coxswain/protocol";
import { describe, expect, test } from "vitest";
import { createRecordEncoder } from "../../src/trace/codec.ts";
import { DiskPace } from "../../src/trace/disk-pace.ts";
import { TraceWriter } from "../../src/trace/trace-writer.ts";
import {
  build,
  failureOf,
  lines,
  meta,
  opened,
  say,
  sessionId,
  SwitchedDisk,
  temporaryDirectory,
  textsOf,
} from "./support.ts";

/** What is held back is written beside the event loop; until then a record past the limit is refused. */
async function untilTaken(writer: TraceWriter, record: OmniMessage): Promise<void> {
  for (let attempts = 0; attempts < 1000; attempts += 1) {
    try {
      return await writer.write(record);
    } catch {
      await new Promise((resolve) => void setImmediate(resolve));
    }
  }
  throw new Error("the record was never taken");
}

describe("a full disk", () => {
  test.each([0, 1, 40, 99])(
    "holds records back and writes them in order once it has room; %i bytes fit",
    async (fits) => {
      const { disk, sink, content } = await opened();
      const records = ["one", "two", "three", "four"].map(say);
      await sink.write(meta);
      disk.error = "ENOSPC";
      disk.freeBytes = fits;
      for (const record of records.slice(0, 3)) {
        expect(await failureOf(sink.write(record))).toMatchObject({ heldBack: true, blocksEffects: false });
      }
      disk.error = undefined;
      await sink.write(records[3] ?? meta);
      // What was half written has been finished: not a byte more.
      expect(await content()).toBe(lines(meta, ...records));
      await sink.close();
    },
  );

  test("takes what was held back when the trace is closed", async () => {
    const { disk, sink, content } = await opened();
    disk.error = "ENOSPC";
    await failureOf(sink.write(meta));
    disk.error = undefined;
    await sink.close();
    expect(await content()).toBe(lines(meta));
  });

  test("that stays full makes close say what is lost, and still frees the Session", async () => {
    const { disk, sink, store } = await opened();
    disk.error = "ENOSPC";
    await failureOf(sink.write(meta));
    await failureOf(sink.write(say("more")));
    await expect(sink.close()).rejects.toThrow("2 records of the trace are lost");
    disk.error = undefined;
    await (await store.open(sessionId)).close();
  });

  test("keeps records of one context out of the next one's file", async () => {
    const { disk, sink, content } = await opened();
    const [one, two, three] = [say("one"), say("two"), say("three")];
    await sink.write(meta);
    disk.error = "ENOSPC";
    await failureOf(sink.write(one));
    await sink.rotate();
    await failureOf(sink.write(two));
    disk.error = undefined;
    await sink.write(three);
    expect(await content(1)).toBe(lines(meta, one));
    expect(await content(2)).toBe(lines(two, three));
    await sink.close();
  });

  test("never doubles a decision that is written again until it is kept", async () => {
    const { disk, sink, content } = await opened();
    const record = build.approvalDecision("allow", "call");
    await sink.write(meta);
    disk.error = "ENOSPC";
    await failureOf(sink.write(record));
    await failureOf(sink.write(record));
    disk.error = undefined;
    await sink.write(record);
    expect(await content()).toBe(lines(meta, record));
    await sink.close();
  });

  test("takes what is said with one and the same object as often as it is said", async () => {
    const { disk, sink, content } = await opened();
    const again = say("again");
    await sink.write(meta);
    await sink.write(again);
    disk.error = "ENOSPC";
    for (let time = 0; time < 2; time += 1) await failureOf(sink.write(again));
    disk.freeBytes = Buffer.byteLength(lines(again));
    await failureOf(sink.writeAll?.([again, again]) ?? Promise.resolve());
    disk.error = undefined;
    await sink.write(again);
    await sink.close();
    expect(await content()).toBe(lines(meta, ...Array.from({ length: 6 }, () => again)));
  });

  test("is not held against without end: past the limit records are lost, without a gap before the last one kept", async () => {
    const disk = new SwitchedDisk();
    const path = `${temporaryDirectory()}/x.jsonl`;
    const writer = new TraceWriter({
      disk,
      pace: new DiskPace(),
      encode: createRecordEncoder(),
      durability: "process",
      pathOf: () => path,
      first: { index: 1, isNew: true },
      release: () => Promise.resolve(),
      maxHeldBytes: 300,
    });
    disk.error = "ENOSPC";
    const [kept, tooLong, short, later] = [say("kept"), say("x".repeat(300)), say("short"), say("later")];
    expect((await failureOf(writer.write(kept))).heldBack).toBe(true);
    expect((await failureOf(writer.write(tooLong))).heldBack).toBe(false);
    expect((await failureOf(writer.write(short))).heldBack).toBe(false);
    disk.error = undefined;
    expect((await failureOf(writer.write(say("lost as well")))).heldBack).toBe(false);
    await untilTaken(writer, later);
    await writer.close();
    expect(fs.readFileSync(path, "utf8")).toBe(lines(kept, later));
  });
});

describe("a disk that fails otherwise", () => {
  test("ends the line that it tore, and the record follows whole", async () => {
    const { disk, sink, store } = await opened();
    const [one, two] = [say("one"), say("two")];
    await sink.write(meta);
    disk.error = "EIO";
    disk.freeBytes = 30;
    await failureOf(sink.write(one));
    disk.error = undefined;
    await sink.write(two);
    await sink.close();
    const { messages, skippedLines } = await store.read(sessionId);
    expect(messages).toEqual([meta, one, two]);
    expect(skippedLines).toEqual([2]);
  });

  test("may take few bytes at a time", async () => {
    const { disk, sink, content } = await opened();
    disk.maxBytesAtOnce = 7;
    const record = say("漢字🥊".repeat(20));
    await sink.write(meta);
    await sink.write(record);
    await sink.close();
    expect(await content()).toBe(lines(meta, record));
  });

  test("does not stop the next records when one cannot be JSON", async () => {
    const { sink, content } = await opened();
    const wrong = { ...meta, payload: { ...meta.payload, workspace: 1n } } as unknown as OmniMessage;
    await expect(sink.write(wrong)).rejects.toThrow("a record cannot be written as JSON");
    await sink.write(meta);
    await sink.close();
    expect(await content()).toBe(lines(meta));
  });
});

describe("a slow disk", () => {
  test("is written to beside everything else, in order, each promise when its record is there", async () => {
    const { disk, sink, store } = await opened();
    disk.syncWriteMs = 50;
    await sink.write(meta);
    disk.hang();
    const records = Array.from({ length: 20 }, (_, index) => say(`record ${index}`));
    let landed = 0;
    const writes = records.map(async (record) => {
      await sink.write(record);
      landed += 1;
    });
    await Promise.resolve();
    expect(disk.events.filter((event) => event === "writeSync")).toHaveLength(1);
    expect(landed).toBe(0);
    disk.answer();
    await Promise.all(writes);
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(records.map((_, index) => `record ${index}`));
    await sink.close();
  });

  test("is tried again ever more rarely, and trusted again once it is quick", () => {
    const pace = new DiskPace();
    const slowAfter = (nowMs: number): number => {
      pace.note(50, nowMs);
      let pauseMs = 0;
      while (pace.isSlow(nowMs + pauseMs)) pauseMs += 1;
      return pauseMs;
    };
    expect([0, 1000, 2000, 3000].map(slowAfter)).toEqual([20, 40, 80, 160]);
    for (let round = 0; round < 20; round += 1) pace.note(50, 4000);
    expect(pace.isSlow(13_999)).toBe(true);
    expect(pace.isSlow(14_000)).toBe(false);
    pace.note(1, 14_000);
    expect(pace.isSlow(14_000)).toBe(false);
    expect(slowAfter(15_000)).toBe(20);
  });

  test("writes at once again after its pause", async () => {
    const { disk, sink } = await opened();
    disk.syncWriteMs = 50;
    await sink.write(meta);
    disk.syncWriteMs = 0;
    await sink.write(say("behind"));
    disk.pass(20);
    await sink.write(say("at once"));
    expect(disk.events).toEqual(["open", "writeSync", "write", "writeSync"]);
    await sink.close();
  });

  test("is waited for by close", async () => {
    const { disk, sink, content } = await opened();
    disk.syncWriteMs = 50;
    await sink.write(meta);
    disk.hang();
    const record = say("last");
    const written = sink.write(record);
    const closed = sink.close();
    disk.answer();
    await Promise.all([written, closed]);
    expect(await content()).toBe(lines(meta, record));
  });
});

describe("durability", () => {
  test("power: an allowed call and the end of a request are on the disk before they count", async () => {
    const { disk, sink } = await opened({ durability: "power" });
    await sink.write(meta);
    await sink.write(build.approvalDecision("deny", "c"));
    expect(disk.events).not.toContain("sync");
    await sink.write(build.approvalDecision("allow", "c"));
    await sink.write(build.requestEnd("completed"));
    expect(disk.events.filter((event) => event.startsWith("sync"))).toEqual(["sync", "syncDirectory", "sync"]);
    await sink.close();
  });

  test("process: nothing waits for the disk itself", async () => {
    const { disk, sink } = await opened();
    await sink.write(build.approvalDecision("allow", "c"));
    await sink.write(build.requestEnd("completed"));
    expect(disk.events).not.toContain("sync");
    await sink.close();
  });

  test("power: while the disk cannot promise it, every attempt is refused, and no record is doubled", async () => {
    const { disk, sink, content } = await opened({ durability: "power" });
    const allow = build.approvalDecision("allow", "c");
    const later = say("later");
    await sink.write(meta);
    disk.syncError = "EIO";
    expect(await failureOf(sink.write(allow))).toMatchObject({ heldBack: true, blocksEffects: true });
    expect(await failureOf(sink.write(later))).toMatchObject({ blocksEffects: true });
    expect(await failureOf(sink.write(allow))).toMatchObject({ blocksEffects: true });
    disk.syncError = undefined;
    await sink.write(allow);
    await sink.close();
    expect(await content()).toBe(lines(meta, allow, later));
  });
});

describe("a closed trace", () => {
  test("refuses records, and closes once", async () => {
    const { sink } = await opened();
    await sink.close();
    await sink.close();
    await expect(sink.write(meta)).rejects.toThrow("the trace is closed");
  });
});
