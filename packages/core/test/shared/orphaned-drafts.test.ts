import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { draftName, hostMark } from "../../src/shared/host-mark.ts";
import { removeOrphanedDrafts } from "../../src/shared/orphaned-drafts.ts";

let root: string;
let directory: string;

beforeEach(() => {
  root = fs.mkdtempSync(join(tmpdir(), "orphaned-drafts-test-"));
  directory = join(root, "directory");
  fs.mkdirSync(directory);
});

afterEach(() => fs.rmSync(root, { recursive: true }));

/** As a process with our number named it that lived before us. */
function orphan(): string {
  return draftName().replace(hostMark(), `${process.pid}.1`);
}

function make(...names: string[]): void {
  for (const name of names) fs.writeFileSync(join(directory, name), "");
}

test("of the dead are removed, nobody else's", async () => {
  const anothers = orphan().replace(/-\d+-/, "-1-");
  const kept = [draftName(), anothers, orphan().replace("draft", "x"), `x${orphan()}`, `${orphan()}x`, ".x.tmp"];
  make(...kept, orphan(), orphan());
  await removeOrphanedDrafts(directory);
  expect(fs.readdirSync(directory).toSorted()).toEqual(kept.toSorted());
});

test("only files are taken for drafts: links stay with what they lead to, directories with what is in them", async () => {
  const [link, place] = [orphan(), orphan()];
  fs.writeFileSync(join(root, "elsewhere"), "another's");
  fs.symlinkSync(join(root, "elsewhere"), join(directory, link));
  fs.mkdirSync(join(directory, place, "in-it"), { recursive: true });
  await removeOrphanedDrafts(directory);
  expect(fs.readdirSync(directory).toSorted()).toEqual([link, place].toSorted());
  expect(fs.readFileSync(join(root, "elsewhere"), "utf8")).toBe("another's");
});

test("of many a bounded number is removed at once, and the rest by those who come later", async () => {
  const names = Array.from({ length: 40 }, orphan);
  make(...names);
  await removeOrphanedDrafts(directory);
  expect(fs.readdirSync(directory).length).toBe(8);
  await removeOrphanedDrafts(directory);
  expect(fs.readdirSync(directory)).toEqual([]);
});

test("behind many other names they are not looked for", async () => {
  const some = (): string[] => Array.from({ length: 15 }, orphan);
  // Some systems give the oldest names first, some the newest, some neither.
  make(...some(), ...Array.from({ length: 6000 }, (_, index) => `${index}`), ...some());
  await removeOrphanedDrafts(directory);
  expect(fs.readdirSync(directory).length).toBeGreaterThan(6000);
});

test("a directory that cannot be read is no error", async () => {
  await removeOrphanedDrafts(join(root, "nowhere"));
});
