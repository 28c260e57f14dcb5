import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decodeText, encodeText } from "../../src/environment/files/text-encoding.ts";
import { worldWith } from "./file-world.ts";

const edit = { file_path: "a", old_string: "one", new_string: "two" };

describe("an edit leaves every other byte as it is", () => {
  test.each([
    ["bytes that are no UTF-8 in a text that is", Buffer.from("é 🐧 \xff ç one", "latin1"), undefined],
    ["UTF-8 with a byte cut off", Buffer.concat([Buffer.from("é 🐧 one "), Buffer.from([0xf0, 0x9f])]), undefined],
    ["UTF-8 with mark and a stray byte", Buffer.from([0xef, 0xbb, 0xbf, 0xff, 111, 110, 101]), undefined],
    ["UTF-16 with half a pair", Buffer.from("\uFEFF\uD800 one", "utf16le"), undefined],
    [
      "Windows-1252 with all its bytes",
      Buffer.from([...Array.from({ length: 128 }, (_, i) => i + 128), 111, 110, 101]),
      undefined,
    ],
    ["every kind of line end", Buffer.from("a\rb\nc\r\none\n\r\r\n"), undefined],
    ["no line end at the end", Buffer.from("one"), undefined],
  ])("%s", async (_name, before) => {
    const { call, bytes } = await worldWith({ a: before });
    expect((await call("read_file", { file_path: "a" })).status).toBe("completed");
    expect((await call("edit_file", edit)).status).toBe("completed");
    expect(await bytes("a")).not.toEqual(before);
    expect((await call("edit_file", { file_path: "a", old_string: "two", new_string: "one" })).status).toBe(
      "completed",
    );
    expect(await bytes("a")).toEqual(before);
  });

  test("whatever the bytes are, decoded and encoded they are the same, or told to be binary", () => {
    const piece = fc.oneof(
      fc.uint8Array({ maxLength: 6 }),
      fc.constantFrom("é", "🐧", "💀", "\u{DC80}", "€", "\r\n", "a").map((text) => Buffer.from(text)),
      fc
        .constantFrom([0xef, 0xbb, 0xbf], [0xff, 0xfe], [0xfe, 0xff], [0xed, 0xb2, 0x80])
        .map((list) => Buffer.from(list)),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const bytes = Buffer.concat(pieces);
        const decoded = decodeText(bytes);
        if (decoded === undefined) expect(bytes.includes(0) || bytes.length % 2 === 1).toBe(true);
        else expect(encodeText(decoded.text, decoded)).toEqual(bytes);
      }),
      { numRuns: 500 },
    );
  });
});

test("how a file was read is told when it is not plain UTF-8", async () => {
  const { call } = await worldWith({
    broken: Buffer.from("é é \xff", "latin1").fill("é", 0, 4),
    old: Buffer.from("\x93caf\xe9\x94 \x80", "latin1"),
    plain: "café",
  });
  const read = async (file_path: string): Promise<string> => (await call("read_file", { file_path })).output;
  expect(await read("old")).toBe(
    "     1\t“café” €\n[this is no UTF-8: read, and written again, as Windows-1252 (Latin-1)]",
  );
  expect(await read("broken")).toMatch(/^ {5}1\té.*\uFFFD\n\[some bytes are no UTF-8 and shown as \uFFFD; an edit/);
  expect(await read("plain")).toBe("     1\tcafé");
});

test("what would be written as something else is refused", async () => {
  const { call, bytes } = await worldWith({ a: "one", old: Buffer.from("\xe9 one", "latin1"), wide: "\uFEFFone" });
  for (const new_string of ["\uD83D", "a\0b"]) {
    expect((await call("edit_file", { ...edit, new_string })).status).toBe("failed");
  }
  expect((await call("write_file", { file_path: "a", content: "\uDC27" })).output).toContain("half a character");
  const lacks = await call("edit_file", { file_path: "old", old_string: "one", new_string: "一" });
  expect(lacks).toMatchObject({ status: "failed", output: expect.stringContaining("Latin-1") });
  expect(await bytes("a")).toEqual(Buffer.from("one"));
  expect(await bytes("old")).toEqual(Buffer.from("\xe9 one", "latin1"));
});

describe("write_file keeps what whoever reads a file does not see of it", () => {
  test.each([
    ["CR LF line ends", Buffer.from("a\r\nb\r\n"), "x\ny\n", Buffer.from("x\r\ny\r\n")],
    ["byte order mark", Buffer.from("\uFEFFa"), "b", Buffer.from("\uFEFFb")],
    ["encoding utf16be", Buffer.from("\uFEFFa", "utf16le").swap16(), "b", Buffer.from("\uFEFFb", "utf16le").swap16()],
    ["encoding windows-1252", Buffer.from("\xe9", "latin1"), "ç", Buffer.from("\xe7", "latin1")],
  ])("%s", async (kept, before, content, after) => {
    const { call, bytes } = await worldWith({ a: before });
    expect((await call("write_file", { file_path: "a", content })).output).toContain(`kept: `);
    expect((await call("read_file", { file_path: "a" })).status).toBe("completed");
    expect(await bytes("a")).toEqual(after);
    expect((await call("write_file", { file_path: "a", content: `${content} ` })).output).toContain(kept);
  });

  test.each([
    ["line ends that are mixed, or that the content has itself", "a\r\nb\n", "x\ny\r\n"],
    ["what the old encoding lacks", Buffer.from("\xe9", "latin1"), "🐧\n"],
    ["binary data", Buffer.from([0, 1]), "text\n"],
  ])("but not %s", async (_name, before, content) => {
    const { call, text } = await worldWith({ a: before });
    expect((await call("write_file", { file_path: "a", content })).status).toBe("completed");
    expect(await text("a")).toBe(content);
  });
});

test("UTF-16 without a mark, UTF-32 and a NUL anywhere are binary: told, and not edited", async () => {
  const { call } = await worldWith({
    bare: Buffer.from("one", "utf16le"),
    wide: Buffer.from([0xff, 0xfe, 0, 0, 111, 0, 0, 0]),
    nul: "one\0",
    odd: Buffer.from([0xff, 0xfe, 111]),
  });
  for (const file_path of ["bare", "wide", "nul", "odd"]) {
    expect((await call("read_file", { file_path })).output).toMatch(/^\[binary file, \d+ bytes: not shown\]$/);
    expect((await call("edit_file", { ...edit, file_path })).output).toContain("is a binary file");
  }
});

test.each([
  ["of another alphabet", Buffer.from([0xf0, 0xd2, 0xc9, 0xd7, 0xc5, 0xd4, 0x20, 0x0a]), "windows-1252"],
  ["with controls of Windows-1252", Buffer.from([0x93, 0x80, 0x94, 0x0a]), "windows-1252"],
  ["with as many bytes that are none as there are lines", Buffer.from([0xc3, 0xa4, 0xff, 0xc3, 0xa4, 0x0a]), "utf8"],
])("8 MiB %s are decoded and written again as they were", (_name, piece, encoding) => {
  const bytes = Buffer.alloc(8 * 1024 * 1024, piece);
  const decoded = decodeText(bytes);
  expect(decoded?.encoding).toBe(encoding);
  expect(decoded && encodeText(decoded.text, decoded)?.equals(bytes)).toBe(true);
});

test("what decides for UTF-8 are more of its characters than bytes that are none, wherever they stand", () => {
  for (const [text, encoding] of [
    [[0xff, 0xff, 0xc3, 0xa4, 0xc3, 0xa4], "windows-1252"],
    [[0xff, 0xff, 0xc3, 0xa4, 0xc3, 0xa4, 0xc3, 0xa4], "utf8"],
    [[0xc3, 0xa4, 0xff, 0x61], "windows-1252"],
    [[0xf0, 0x9f, 0x90, 0xa7, 0xe2, 0x82, 0xac, 0xff], "utf8"],
  ] as const) {
    expect(decodeText(Buffer.from(text))?.encoding).toBe(encoding);
  }
});
