import * as fs from "node:fs";
import { dirname } from "node:path";
import type { OmniMessage } from "@coxswain/protocol";
import { describe, expect, test } from "vitest";
import { build, failureOf, lines, meta, opened, say, sessionId } from "./support.ts";

describe("a file that somebody removes", () => {
  test.each(["file", "directory"])(
    "is missed with the next words, and a new one begins as it did; the %s is removed",
    async (what) => {
      const { sink, store } = await opened();
      const [lost, first, second] = ["lost", "first", "second"].map(say);
      await sink.write(meta);
      await sink.write(lost ?? meta);
      const path = await store.path(sessionId);
      fs.rmSync(what === "file" ? path : dirname(path), { recursive: true });
      const failure = await failureOf(sink.write(first ?? meta));
      expect(failure).toMatchObject({ heldBack: true, message: expect.stringContaining(`${path} has been removed`) });
      await sink.write(second ?? meta);
      await sink.close();
      expect((await store.read(sessionId)).messages).toEqual([meta, first, second]);
    },
  );

  test("is missed in the middle of an answer too, but not looked for with every record", async () => {
    const { disk, sink, store } = await opened();
    const thought = (): OmniMessage => build.assistantText("hm");
    await sink.write(meta);
    fs.rmSync(await store.path(sessionId));
    disk.pass(999);
    await sink.write(thought());
    disk.pass(1);
    expect((await failureOf(sink.write(thought()))).message).toContain("has been removed");
    await sink.close();
    expect((await store.read(sessionId)).messages).toHaveLength(2);
  });

  test("begins anew as the resumed one did", async () => {
    const { sink, store } = await opened();
    await sink.write(meta);
    await sink.write(say("before"));
    await sink.close();
    const resumed = await store.open(sessionId);
    await resumed.write(say("lost"));
    fs.rmSync(await store.path(sessionId));
    const kept = say("kept");
    await failureOf(resumed.write(kept));
    await resumed.close();
    expect((await store.read(sessionId)).messages).toEqual([meta, kept]);
  });

  test("does not get a second beginning when the first record is the one that failed", async () => {
    const { disk, sink, content } = await opened();
    disk.error = "EIO";
    await failureOf(sink.write(meta));
    disk.error = undefined;
    const said = say("said");
    await sink.write(said);
    await sink.close();
    expect(await content()).toBe(lines(meta, said));
  });

  test("that was moved is written on where it is, and so is one without a count of its names", async () => {
    const { disk, sink, store, content } = await opened();
    await sink.write(meta);
    const path = await store.path(sessionId);
    const { descriptor } = disk.openForAppend(path, false);
    expect(disk.isRemoved(descriptor, path)).toBe(false);
    fs.renameSync(path, `${path}.moved`);
    expect(disk.isRemoved(descriptor, path)).toBe(false);
    await sink.write(say("still"));
    fs.renameSync(`${path}.moved`, path);
    disk.close(descriptor);
    await sink.close();
    expect(await content()).toContain("still");
  });
});
