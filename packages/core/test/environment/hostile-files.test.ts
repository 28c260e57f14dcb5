import { execFileSync } from "node:child_process";
import { link, open, readFile, symlink, truncate, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { openRegularFile } from "../../src/shared/regular-file.ts";
import { pngOf, worldWith } from "./file-world.ts";
import { callOf } from "./support.ts";

describe("what is no regular file", () => {
  test("is refused by every tool, by itself and behind a link, and keeps nobody waiting", async () => {
    const { call, workspaceDir } = await worldWith({ a: "text" });
    execFileSync("mkfifo", [join(workspaceDir, "fifo"), join(workspaceDir, "fifo.png")]);
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(join(workspaceDir, "socket"), resolve));
    onTestFinished(() => new Promise((resolve) => server.close(() => resolve())));
    await symlink("fifo", join(workspaceDir, "link"));
    const names = ["fifo", "fifo.png", "socket", "link", "/dev/zero", "/dev/full", "/dev/tty", "."];
    const calls = names.flatMap((file_path) => [
      call("read_file", { file_path }),
      call("edit_file", { file_path, old_string: "a", new_string: "b" }),
      call("write_file", { file_path, content: "x" }),
    ]);
    for (const { status, output } of await Promise.all(calls)) {
      expect(status).toBe("failed");
      expect(output).toMatch(/is no regular file \(a (FIFO|socket|device)\)|is a directory/);
    }
    expect((await call("search_files", { pattern: "t", path: "fifo" })).output).toContain("is not a directory");
    expect((await call("search_files", { pattern: "ex" })).output).toBe("a:1: text");
    expect((await call("list_files", {})).output).toContain("fifo.png");
    expect((await call("read_file", { file_path: "a" })).output).toContain("text");
  });

  test("is not waited for where it took the place of a file after the look at it", async () => {
    const { workspaceDir } = await worldWith({});
    execFileSync("mkfifo", [join(workspaceDir, "fifo")]);
    await expect(openRegularFile(join(workspaceDir, "fifo"))).rejects.toThrow("no regular file");
    await expect(openRegularFile("/dev/zero")).rejects.toThrow("no regular file");
    await writeFile(join(workspaceDir, "a"), "");
    await symlink("a", join(workspaceDir, "link"));
    await expect(openRegularFile(join(workspaceDir, "link"))).rejects.toThrow("ELOOP");
  });

  test("files that the system makes up have what they say, though their size is 0", async () => {
    const { call } = await worldWith({});
    expect((await call("read_file", { file_path: "/proc/version" })).output).toMatch(/^ {5}1\t\S+/);
    const written = await call("write_file", { file_path: "/proc/version", content: "x" });
    expect(written.status).toBe("failed");
  });
});

describe("very large files", () => {
  test("of 1 GB of zeros are told to be binary, named by a search, and not edited", async () => {
    const { call, workspaceDir } = await worldWith({ huge: "first\nsecond\n", "a.txt": "first\n" });
    await truncate(join(workspaceDir, "huge"), 1_000_000_000);
    const { output } = await call("read_file", { file_path: "huge", limit: 2 });
    expect(output).toBe("[binary file, larger than 8 MiB: not shown]");
    expect((await call("edit_file", { file_path: "huge", old_string: "first", new_string: "1" })).output).toContain(
      "larger than 8 MiB",
    );
    expect((await call("search_files", { pattern: "first" })).output).toBe(
      "a.txt:1: first\n[not searched, since larger than 8 MiB: huge; search them by a command]",
    );
    expect((await call("search_files", { pattern: "nowhere", path: "huge" })).output).toContain(
      "[no matches]\n[not searched",
    );
  });

  test("of UTF-16 are told to be too large, not binary", async () => {
    const { call } = await worldWith({ a: Buffer.from(`\uFEFF${"a\n".repeat(2_200_000)}`, "utf16le") });
    expect(await call("read_file", { file_path: "a" })).toMatchObject({
      status: "failed",
      output: "a is UTF-16 and larger than 8 MiB: turn it into UTF-8 by a command.",
    });
  });

  test("of text are read page by page, to a line that has no end", async () => {
    const { call, workspaceDir } = await worldWith({});
    const file = await open(join(workspaceDir, "log"), "w");
    await file.write("line\r\n".repeat(1_500_000));
    await file.write("x".repeat(50 * 1024 * 1024));
    await file.close();
    const far = await call("read_file", { file_path: "log", offset: 1_499_999 });
    expect(far.output).toBe(`1499999\tline\n1500000\tline\n1500001\t${"x".repeat(2000)} [… the line goes on]`);
    expect((await call("read_file", { file_path: "log", limit: 1 })).output).toBe(
      "     1\tline\n[more lines follow: go on with offset 2]",
    );
    const beyond = await call("read_file", { file_path: "log", offset: 4_000_000 });
    expect(beyond.output).toBe("The file has 1500001 lines: offset 4000000 is past its end.");
  });

  test("can be replaced, without a diff, and are not taken for changed afterwards", async () => {
    const { call, text } = await worldWith({ a: "x".repeat(9 * 1024 * 1024) });
    const large = "y\n".repeat(5 * 1024 * 1024);
    expect((await call("write_file", { file_path: "a", content: large })).output).toContain("no diff");
    expect((await call("write_file", { file_path: "a", content: "small" })).status).toBe("completed");
    expect(await text("a")).toBe("small");
  });

  test("are not what an edit makes", async () => {
    const { call, bytes } = await worldWith({ a: "x".repeat(100_000), b: "x".repeat(1_000_000) });
    const edit = { old_string: "x", new_string: "y".repeat(10_000), replace_all: true };
    for (const file_path of ["a", "b"]) {
      expect((await call("edit_file", { file_path, ...edit })).output).toContain("too large");
    }
    expect((await bytes("a")).length).toBe(100_000);
  });
});

describe("a page of lines", () => {
  test("says that more follow outside of what may be cut", async () => {
    const { call } = await worldWith({ a: "x".repeat(99).concat("\n").repeat(300) }, { maxOutputLength: 1000 });
    const { output } = await call("read_file", { file_path: "a" });
    expect(output).toMatch(/characters left out.*\n[^]*\n\[more lines follow: go on with offset \d+\]$/);
    expect(output.length).toBeLessThan(1100);
  });

  test("holds secrets masked also where a long line is cut", async () => {
    const secret = "k3y-0123456789abcdef";
    const { call } = await worldWith(
      { a: `${"x".repeat(1990)}${secret}${"y".repeat(400)}\n`, b: `${"x".repeat(1990)}${secret}` },
      { secrets: [secret] },
    );
    const part = secret.slice(0, 8);
    expect((await call("read_file", { file_path: "a" })).output).not.toContain(part);
    expect((await call("search_files", { pattern: "0123456789" })).output).toBe("[no matches]");
    const found = await call("search_files", { pattern: "y{3}" });
    expect(found.output).not.toContain("abcdef");
    const edited = await call("edit_file", { file_path: "b", old_string: "xxxx", new_string: "zzzz" });
    expect(edited.output).toContain("stands 497 times");
    const torn = await call("edit_file", { file_path: "a", old_string: "xxxk3y", new_string: "q" });
    expect(torn.output).not.toContain(part);
    const diff = await call("edit_file", { file_path: "b", old_string: `x${secret}`, new_string: "q" });
    expect(diff).toMatchObject({ status: "completed", output: expect.not.stringContaining(part) });
  });

  test("with a masked secret in it is not written back over the secret", async () => {
    const secret = "k3y-0123456789abcdef";
    const { call, text } = await worldWith({ env: `A=1\nKEY=${secret}\n` }, { secrets: [secret] });
    expect((await call("read_file", { file_path: "env" })).output).toContain("KEY=[redacted]");
    const written = await call("write_file", { file_path: "env", content: "A=2\nKEY=[redacted]\n" });
    expect(written).toMatchObject({ status: "failed", output: expect.stringContaining("holds a secret") });
    const missed = await call("edit_file", { file_path: "env", old_string: "KEY=[redacted]", new_string: "K" });
    expect(missed.output).toContain("leave it out of `old_string`");
    await call("edit_file", { file_path: "env", old_string: "A=1", new_string: "A=2" });
    expect(await text("env")).toBe(`A=2\nKEY=${secret}\n`);
  });
});

describe("an edit that holds a part of a secret", () => {
  const secret = "k3y-0123456789abcdef";
  const inner = "0123456789";
  const world = (content: string) => worldWith({ env: content }, { secrets: [secret, inner, "aXbaXbaXb"] });

  test.each([
    ["its beginning", "KEY=k3y-0", "KEY="],
    ["its beginning alone", "k3y-", "k3y-_"],
    ["its end", "abcdef\n", "abcdeg\n"],
    ["its middle, which is another secret", inner, "9876543210"],
    ["one character", "f", "g"],
  ])("%s, is refused and shows nothing of it", async (_, old_string, new_string) => {
    const content = `A=1\r\nKEY=${secret}\n`;
    const { call, environment, text } = await world(content);
    const edit = { file_path: "env", old_string, new_string };
    const ran = await call("edit_file", edit);
    expect(ran).toMatchObject({ status: "failed", output: expect.stringContaining("holds a part of a secret") });
    for (const part of [secret.slice(0, 8), inner.slice(2), secret.slice(-8)]) expect(ran.output).not.toContain(part);
    expect(await environment.preview(callOf("edit_file", edit))).toBeUndefined();
    expect(await text("env")).toBe(content);
  });

  test("in one of many places is refused for all of them", async () => {
    const content = `ab ${secret} ab\n`;
    const { call, text } = await world(content);
    const ran = await call("edit_file", { file_path: "env", old_string: "ab", new_string: "c", replace_all: true });
    expect(ran).toMatchObject({ status: "failed", output: expect.stringContaining("holds a part of a secret") });
    expect(await text("env")).toBe(content);
  });

  test("where it overlaps itself is refused", async () => {
    const { call } = await world("aXbaXbaXbaXb!\n");
    const ran = await call("edit_file", { file_path: "env", old_string: "Xb!", new_string: "c" });
    expect(ran).toMatchObject({ status: "failed", output: expect.stringContaining("holds a part of a secret") });
  });

  test.each([
    ["the whole of it", `KEY=${secret}`, "KEY=", "A=1\nKEY=\n"],
    ["what stands right before it", "KEY=", "K=", `A=1\nK=${secret}\n`],
    ["what stands right behind it", "\n[end]", "!", `A=1\nKEY=${secret}!`],
  ])("but holds %s, is made", async (_, old_string, new_string, after) => {
    const { call, text } = await world(`A=1\nKEY=${secret}\n${old_string.includes("[end]") ? "[end]" : ""}`);
    const ran = await call("edit_file", { file_path: "env", old_string, new_string });
    expect(ran).toMatchObject({ status: "completed", output: expect.not.stringContaining(secret.slice(0, 8)) });
    expect(await text("env")).toBe(after);
  });
});

test("a leading ~ is the person's home, and no directory of that name is made", async () => {
  const { call } = await worldWith({ a: "" });
  expect((await call("read_file", { file_path: "~" })).output).toContain("is a directory");
  const name = "~/there-is-no-such-file-of-tests";
  expect((await call("edit_file", { file_path: name, old_string: "a", new_string: "b" })).output).toContain(
    "There is no file",
  );
  expect((await call("list_files", {})).output).toBe("a");
});

test("a file with a second name is replaced under one of them alone", async () => {
  const { call, workspaceDir, text } = await worldWith({ a: "one" });
  await link(join(workspaceDir, "a"), join(workspaceDir, "b"));
  await call("edit_file", { file_path: "a", old_string: "one", new_string: "two" });
  expect(await text("a")).toBe("two");
  expect(await text("b")).toBe("one");
});

describe("images", () => {
  const gif = Buffer.from("47494638396102000300800000000000ffffff2c00000000020003000002028451003b", "hex");
  const jpeg = Buffer.from(
    "ffd8ffe000104a46494600010100000100010000ffc0000b080003000201011100ffda0008010100003f00aaffd9",
    "hex",
  );
  const webp = Buffer.from("524946461a000000574542505650384c0d0000002f01800000000000000000000000", "hex");

  test.each([
    ["image/png", pngOf(2, 3)],
    ["image/gif", gif],
    ["image/jpeg", jpeg],
    ["image/webp", webp],
  ])("%s is known by its bytes, whatever its name", async (type, bytes) => {
    const { call } = await worldWith({ "a.txt": bytes });
    const { output, payload } = await call("read_file", { file_path: "a.txt" });
    expect(output).toBe(`[${type}, 2 × 3 pixels, ${bytes.length} bytes]`);
    expect(payload.images).toEqual([`data:${type};base64,${bytes.toString("base64")}`]);
  });

  test.each([
    ["image/png", pngOf(2, 3)],
    ["image/gif", gif],
    ["image/jpeg", jpeg],
    ["image/webp", webp],
  ])("%s that ends early is not shown, however early", async (type, bytes) => {
    const { call, workspaceDir } = await worldWith({});
    for (let length = 12; length < bytes.length; length += 3) {
      await writeFile(join(workspaceDir, "a"), bytes.subarray(0, length));
      const ran = await call("read_file", { file_path: "a" });
      expect(ran).toMatchObject({
        status: "failed",
        output: `a begins as ${type} but is damaged or cut off: not shown.`,
      });
      expect(ran.payload.images).toBeUndefined();
    }
  });

  test("that are damaged within, without area, or larger than providers take are not shown", async () => {
    const damaged = pngOf(2, 3);
    damaged[45] = (damaged[45] ?? 0) ^ 1;
    const { call } = await worldWith({
      damaged,
      empty: pngOf(0, 0),
      wide: pngOf(8001, 1),
      heavy: Buffer.concat([pngOf(2, 3), Buffer.alloc(6 * 1024 * 1024)]),
      heavier: Buffer.concat([pngOf(2, 3), Buffer.alloc(9 * 1024 * 1024)]),
    });
    const read = async (file_path: string) => (await call("read_file", { file_path })).output;
    expect(await read("damaged")).toContain("is damaged");
    expect(await read("empty")).toContain("is damaged");
    expect(await read("wide")).toContain("8001 × 1 pixels, more than 8000");
    expect(await read("heavy")).toContain("more than 5242880 bytes");
    expect(await read("heavier")).toContain("more than 5242880 bytes");
  });

  const lossy = Buffer.from("UklGRiIAAABXRUJQVlA4IBYAAAAwAQCdASoBAAEADsD+JaQAA3AAAAAA", "base64");
  const transparent = Buffer.from(
    "UklGRkoAAABXRUJQVlA4WAoAAAAQAAAAAAAAAAAAQUxQSAwAAAARBxAR/Q9ERP8DAABWUDggGAAAABQBAJ0BKgEAAQAAAP4AAA3AAP7mtQAAAA==",
    "base64",
  );
  const animated = Buffer.from(
    "UklGRlIAAABXRUJQVlA4WAoAAAASAAAAAAAAAAAAQU5JTQYAAAD/////AABBTk1GJgAAAAAAAAAAAAAAAAAAAGQAAABWUDhMDQAAAC8AAAAQBxAREYiI/gcA",
    "base64",
  );

  test("WebP of every kind is shown", async () => {
    const { call } = await worldWith({ lossy, transparent, animated });
    for (const file_path of ["lossy", "transparent", "animated"]) {
      expect((await call("read_file", { file_path })).output).toContain("[image/webp, 1 × 1 pixels, ");
    }
  });

  /** A screen of 2 × 3, then what is given. */
  const gifOf = (...parts: string[]): Buffer => Buffer.from(`47494638396102000300000000${parts.join("")}`, "hex");
  const image = "2c00000000020003000002028451003b";
  const [frame, end] = [image.slice(0, -2), "3b"];
  const comment = "21fe02613b00";

  test("a GIF is shown with its comments and all its images, and not when it is cut where a part looks like its end", async () => {
    const { call } = await worldWith({
      whole: gifOf(comment, frame, comment, frame, end),
      cutInComment: gifOf(frame, comment.slice(0, -2)),
      cutInImage: gifOf(comment, "2c0000000002000300000205843b3b"),
      noImage: gifOf(comment, end),
      emptyImage: gifOf("2c0000000002000300000200", end),
      noBlock: gifOf(frame, "00", end),
    });
    const read = async (file_path: string) => (await call("read_file", { file_path })).output;
    expect(await read("whole")).toContain("[image/gif, 2 × 3 pixels, ");
    for (const name of ["cutInComment", "cutInImage", "noImage", "emptyImage", "noBlock"]) {
      expect(await read(name)).toContain("is damaged or cut off: not shown");
    }
  });

  test("a WebP whose image is zeros, or lies about its length, is not shown, however deep its frames are", async () => {
    const zeros = Buffer.from(lossy);
    zeros.fill(0, 20);
    zeros.writeUInt32LE((50 << 16) | 50, 26);
    const partTooLong = Buffer.from(lossy);
    partTooLong[21] = 0x7f;
    const chunkTooLong = Buffer.from(animated);
    chunkTooLong[48] = 0xff;
    const frameInFrame = Buffer.concat([Buffer.from("ANMF"), Buffer.from([24, 0, 0, 0]), Buffer.alloc(16)]);
    const deep = Buffer.concat(Array.from({ length: 50_000 }, () => frameInFrame));
    for (let index = 0; index < deep.length; index += 24) deep.writeUInt32LE(deep.length - index - 8, index + 4);
    const header = Buffer.concat([Buffer.from("RIFF"), Buffer.alloc(4), Buffer.from("WEBP")]);
    header.writeUInt32LE(deep.length + 4, 4);
    const { call } = await worldWith({ zeros, partTooLong, chunkTooLong, deep: Buffer.concat([header, deep]) });
    for (const file_path of ["zeros", "partTooLong", "chunkTooLong", "deep"]) {
      expect((await call("read_file", { file_path })).output).toContain("is damaged or cut off: not shown");
    }
  });

  test("a PDF is told to be one", async () => {
    const { call, workspaceDir } = await worldWith({ a: "%PDF-1.7\n1 0 obj\n" });
    expect((await call("read_file", { file_path: "a" })).output).toContain("[a PDF of 17 bytes: not shown;");
    expect(await readFile(join(workspaceDir, "a"), "utf8")).toContain("%PDF");
  });
});
