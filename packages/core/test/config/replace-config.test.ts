import * as fs from "node:fs";
import { dirname } from "node:path";
import { ManualClock } from "@coxswain/testing";
import { expect, test } from "vitest";
import { replaceConfig } from "../../src/config/replace-config.ts";
import { acquireWriteLock } from "../../src/trace/write-lock.ts";
import { configErrorOf, fileWith } from "./support.ts";

const name = "project_config.toml";

test("what an editor writes meanwhile is not lost: the change is made again, to the newer text", async () => {
  const path = fileWith(name, "one\n");
  const seen: string[] = [];
  await replaceConfig(path, async ({ text }) => {
    seen.push(text);
    if (seen.length === 1) fs.writeFileSync(path, "one\ntwo\n");
    return { text: `${text}mine\n`, result: undefined };
  });
  expect(seen).toEqual(["one\n", "one\ntwo\n"]);
  expect(fs.readFileSync(path, "utf8")).toBe("one\ntwo\nmine\n");
});

test("a file that an editor makes meanwhile is not replaced unseen", async () => {
  const path = fileWith(name, "");
  fs.unlinkSync(path);
  await replaceConfig(path, async ({ text }) => {
    if (!fs.existsSync(path)) fs.writeFileSync(path, "theirs\n");
    return { text: `${text}mine\n`, result: undefined };
  });
  expect(fs.readFileSync(path, "utf8")).toBe("theirs\nmine\n");
});

test("a file that never rests is given up, as the last one left it", async () => {
  const path = fileWith(name, "0");
  let writes = 0;
  const error = await configErrorOf(() =>
    replaceConfig(path, async ({ text }) => {
      writes += 1;
      fs.writeFileSync(path, String(writes));
      return { text: `${text} mine`, result: undefined };
    }),
  );
  expect(error.message).toBe(`${path}: keeps being changed by something else; try again when that is over`);
  expect(fs.readFileSync(path, "utf8")).toBe(String(writes));
  expect(fs.readdirSync(dirname(path)).filter((one) => one.endsWith(".tmp"))).toEqual([]);
});

test("a writer that holds the file is waited for, but not for ever", async () => {
  const path = fileWith(name, "one");
  const lock = await acquireWriteLock(dirname(path), name);
  const clock = new ManualClock();
  const late = configErrorOf(() => replaceConfig(path, async () => ({ text: "mine", result: undefined }), clock));
  await clock.nextSleep();
  clock.advance(4_000);
  await clock.nextSleep();
  clock.advance(1_000);
  expect((await late).message).toBe(`${path}: is being changed by process ${process.pid}; try again when that is over`);
  const next = replaceConfig(path, async () => ({ text: "mine", result: "done" }));
  await lock.release();
  expect(await next).toBe("done");
  expect(fs.readFileSync(path, "utf8")).toBe("mine");
});

test("a file does not become larger than what is read", async () => {
  const path = fileWith(name, "#".repeat(256 * 1024));
  const error = await configErrorOf(() =>
    replaceConfig(path, async ({ text }) => ({ text: `${text}\n`, result: undefined })),
  );
  expect(error.message).toBe(`${path}: would have 262145 bytes; at most 262144 are read`);
  expect(fs.statSync(path).size).toBe(256 * 1024);
});
