import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import {
  NotRegularFileError,
  openRegularFile,
  openRegularFileSync,
  readRegularFileSync,
  readUpTo,
} from "../../src/shared/regular-file.ts";

let directory: string;

beforeEach(() => {
  directory = fs.mkdtempSync(join(tmpdir(), "regular-file-test-"));
  fs.writeFileSync(join(directory, "file"), "abcdef");
  fs.symlinkSync("file", join(directory, "link"));
  execFileSync("mkfifo", [join(directory, "fifo")]);
});

afterEach(() => fs.rmSync(directory, { recursive: true }));

describe.each(["fifo", "."])("%s in the place of a file", (name) => {
  test("is refused at once, by either way of opening", async () => {
    const path = join(directory, name);
    await expect(openRegularFile(path)).rejects.toThrow(NotRegularFileError);
    expect(() => openRegularFileSync(path)).toThrow(NotRegularFileError);
  });
});

test("a link is followed only where that is asked for", async () => {
  const path = join(directory, "link");
  await expect(openRegularFile(path)).rejects.toMatchObject({ code: "ELOOP" });
  expect(() => readRegularFileSync(path)).toThrow("ELOOP");
  expect(readRegularFileSync(path, { followLink: true }).toString()).toBe("abcdef");
});

test("what the check throws is thrown, and the file is closed", async () => {
  const check = (): never => {
    throw new Error("not this one");
  };
  const openedBefore = fs.readdirSync("/dev/fd").length;
  const path = join(directory, "file");
  await expect(openRegularFile(path, { check })).rejects.toThrow("not this one");
  expect(() => readRegularFileSync(path, { check })).toThrow("not this one");
  expect(fs.readdirSync("/dev/fd")).toHaveLength(openedBefore);
});

test("a file is read up to a limit, and one byte more tells that there is more", async () => {
  const { handle } = await openRegularFile(join(directory, "file"));
  const read = [await readUpTo(handle, 6), await readUpTo(handle, 5), await readUpTo(handle, 3)];
  await handle.close();
  expect(read.map(String)).toEqual(["abcdef", "abcdef", "abcd"]);
});

test("a file of more bytes than allowed is not read", () => {
  const path = join(directory, "file");
  expect(readRegularFileSync(path, { maxBytes: 6 }).toString()).toBe("abcdef");
  expect(() => readRegularFileSync(path, { maxBytes: 5 })).toThrow("has 6 bytes, more than 5");
});
