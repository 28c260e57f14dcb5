import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setImmediate as turn } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { NotRegularFileError } from "../../src/shared/regular-file.ts";
import { DraftLostError, keptMode, replaceFile } from "../../src/shared/replace-file.ts";

let directory: string;
let path: string;
let elsewhere: string;

beforeEach(() => {
  const root = fs.mkdtempSync(join(tmpdir(), "replace-file-test-"));
  directory = join(root, "directory");
  path = join(directory, "file");
  elsewhere = join(root, "elsewhere");
  fs.mkdirSync(directory);
  fs.writeFileSync(path, "old");
  fs.writeFileSync(elsewhere, "another's", { mode: 0o600 });
});

afterEach(() => fs.rmSync(join(directory, ".."), { recursive: true }));

/** The one file that is neither there before nor afterwards. */
function draft(): string | undefined {
  const name = fs.readdirSync(directory).find((one) => one !== "file");
  return name === undefined ? undefined : join(directory, name);
}

function swapDraft(put: (place: string) => void): void {
  const place = draft();
  if (place === undefined) throw new Error("there is no draft");
  fs.unlinkSync(place);
  put(place);
}

function untouched(): void {
  const { mode, uid, gid } = fs.statSync(elsewhere);
  expect({ mode: mode & 0o7777, uid, gid }).toEqual({ mode: 0o600, uid: process.getuid?.(), gid: process.getgid?.() });
  expect(fs.readFileSync(elsewhere, "utf8")).toBe("another's");
}

describe("a draft that is swapped for a link", () => {
  test("while it is written passes neither mode nor owner on to where the link leads", async () => {
    fs.chmodSync(path, 0o4777);
    if (process.getuid?.() === 0) fs.chownSync(path, 65534, 65534);
    // It is written in many parts, between which others get their turn.
    const written = replaceFile(path, Buffer.alloc(16 * 1024 * 1024));
    const outcome = written.catch((error: unknown) => error);
    while (draft() === undefined) await turn();
    swapDraft((place) => fs.symlinkSync(elsewhere, place));
    expect(await outcome).toBeInstanceOf(DraftLostError);
    untouched();
    expect(fs.readFileSync(path, "utf8")).toBe("old");
  });

  test("at the last moment does not take the place of the file, and stays as what is not ours", async () => {
    const swap = async (): Promise<void> => swapDraft((place) => fs.symlinkSync(elsewhere, place));
    await expect(replaceFile(path, Buffer.from("new"), { beforeReplacing: swap })).rejects.toThrow(
      /^its draft \.\S+\.tmp was removed or replaced by another program, so nothing was changed; try again/,
    );
    untouched();
    expect(fs.lstatSync(path).isFile()).toBe(true);
    expect(fs.readFileSync(path, "utf8")).toBe("old");
    expect(fs.readlinkSync(draft() ?? "")).toBe(elsewhere);
  });
});

test.each([
  ["another file", 1, (place: string) => fs.writeFileSync(place, "theirs")],
  ["a directory", 1, (place: string) => fs.mkdirSync(place)],
  ["nothing", 0, () => undefined],
])("%s in the place of the draft is an error, and stays", async (_, left, put) => {
  const swap = async (): Promise<void> => swapDraft(put);
  await expect(replaceFile(path, Buffer.from("new"), { beforeReplacing: swap })).rejects.toThrow(DraftLostError);
  expect(fs.readFileSync(path, "utf8")).toBe("old");
  expect(fs.readdirSync(directory).length).toBe(1 + left);
});

test("what stopped the replacing is told, not that the draft is gone as well", async () => {
  const stop = async (): Promise<void> => {
    swapDraft((place) => fs.mkdirSync(place));
    throw new Error("stopped");
  };
  await expect(replaceFile(path, Buffer.from("new"), { beforeReplacing: stop })).rejects.toThrow("stopped");
  expect(fs.statSync(draft() ?? "").isDirectory()).toBe(true);
});

test("a link in the place of the file is neither followed nor replaced, and lends nobody its permissions", async () => {
  fs.unlinkSync(path);
  fs.symlinkSync(elsewhere, path);
  await expect(replaceFile(path, Buffer.from("new"))).rejects.toThrow(NotRegularFileError);
  untouched();
  expect(fs.readdirSync(directory)).toEqual(["file"]);
});

test.each([0o600, 0o640, 0o755, 0o4755, 0o2755, 0o1666])("mode %o stays, and nothing else is left", async (mode) => {
  fs.chmodSync(path, mode);
  await replaceFile(path, Buffer.from("new"));
  expect(fs.statSync(path).mode & 0o7777).toBe(mode);
  expect(fs.readFileSync(path, "utf8")).toBe("new");
  expect(fs.readdirSync(directory)).toEqual(["file"]);
});

test("a program does not begin to run as somebody else because its file could not keep its owner", () => {
  const old = { mode: 0o106_775n, uid: 7n, gid: 8n };
  expect(keptMode(old, { uid: 7n, gid: 8n })).toBe(0o6775);
  expect(keptMode(old, { uid: 9n, gid: 8n })).toBe(0o2775);
  expect(keptMode(old, { uid: 7n, gid: 9n })).toBe(0o4775);
  expect(keptMode(old, { uid: 9n, gid: 9n })).toBe(0o775);
});
