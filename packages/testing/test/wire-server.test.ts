import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { startWireServer, type WireServer } from "../src/wire-server.ts";

let server: WireServer | undefined;

afterEach(async () => {
  await server?.close();
  server = undefined;
});

const ask = (path = "/x", body = "{}") => fetch(`${server?.url}${path}`, { method: "POST", body });

async function reads(response: Response): Promise<number[]> {
  const lengths: number[] = [];
  for await (const piece of response.body ?? []) lengths.push((piece as Uint8Array).length);
  return lengths;
}

describe("the wire server", () => {
  it("plays its exchanges in order, and refuses a request too many", async () => {
    server = await startWireServer({ exchanges: [{ body: "one" }, { status: 429, headers: { "retry-after": "3" } }] });
    expect(await (await ask()).text()).toBe("one");
    const second = await ask();
    expect([second.status, second.headers.get("retry-after")]).toEqual([429, "3"]);
    expect((await ask()).status).toBe(500);
  });

  it("remembers what it was asked", async () => {
    server = await startWireServer({
      handler: (request) => ({ body: `${request.path} ${JSON.stringify(request.body)}` }),
    });
    expect(await (await ask("/v1", '{"a":1}')).text()).toBe('/v1 {"a":1}');
    await ask("/v1", "no json");
    expect(server.requests).toMatchObject([
      { method: "POST", path: "/v1", body: { a: 1 } },
      { path: "/v1", body: "no json" },
    ]);
  });

  it("splits where it is told", async () => {
    const body = "abcdef";
    server = await startWireServer({
      exchanges: [
        { body, splitAt: [2, 5] },
        { body, splitAt: "every-byte" },
      ],
    });
    const first = await reads(await ask());
    expect(first.reduce((sum, length) => sum + length, 0)).toBe(6);
    expect(await (await ask()).text()).toBe(body);
  });

  it("plays a file", async () => {
    const directory = await mkdtemp(join(tmpdir(), "wire-"));
    try {
      const file = join(directory, "answer");
      await writeFile(file, Buffer.from([1, 2, 3]));
      server = await startWireServer({ exchanges: [{ body: { file } }] });
      expect(Array.from(new Uint8Array(await (await ask()).arrayBuffer()))).toEqual([1, 2, 3]);
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("holds a write back until it is let go", async () => {
    let release = (): void => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const beforeWrite = (index: number) => (index === 1 ? held : undefined);
    server = await startWireServer({ exchanges: [{ body: "ab", splitAt: [1], beforeWrite }] });
    const reader = (await ask()).body?.getReader();
    expect((await reader?.read())?.value).toEqual(new Uint8Array([97]));
    release();
    expect((await reader?.read())?.value).toEqual(new Uint8Array([98]));
  });

  it.each(["destroy", "refuse"] as const)("breaks the connection off: %s", async (end) => {
    server = await startWireServer({ exchanges: [{ body: "half", end }] });
    await expect(ask().then((response) => response.text())).rejects.toThrow(TypeError);
  });

  it("ends what it holds open when it is closed", async () => {
    server = await startWireServer({ exchanges: [{ body: "half", end: "hold" }] });
    const response = await ask();
    const text = response.text();
    const closed = server.close();
    server = undefined;
    await expect(text).rejects.toThrow(TypeError);
    await closed;
  });
});
