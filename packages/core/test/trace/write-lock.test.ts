import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import * as fs from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { FileTraceStore } from "../../src/trace/file-trace-store.ts";
import { TraceLockedError } from "../../src/trace/trace-error.ts";
import { acquireWriteLock } from "../../src/trace/write-lock.ts";
import { build, meta, sessionId, temporaryDirectory, textsOf } from "./support.ts";

const built = new URL("../../dist/trace/file-trace-store.js", import.meta.url).href;

/** Another process that opens the Session and says how that went. */
async function openElsewhere(tracesDir: string, afterwards: string): Promise<{ child: ChildProcess; answer: string }> {
  const program = `
    const { FileTraceStore } = await import(${JSON.stringify(built)});
    const store = new FileTraceStore({ tracesDir: ${JSON.stringify(tracesDir)} });
    try {
      const sink = await store.open(${JSON.stringify(sessionId)});
      await sink.write(${JSON.stringify(build.userText("from elsewhere"))});
      console.log("open");
    } catch (error) {
      console.log(error.message);
    }
    ${afterwards}
  `;
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  const [chunk] = (await once(child.stdout, "data")) as [Buffer];
  return { child, answer: chunk.toString().trim() };
}

describe("the lock of a Session", () => {
  test("lets one writer in, within one process too, and the next one once it is closed", async () => {
    const tracesDir = temporaryDirectory();
    const first = await new FileTraceStore({ tracesDir }).open(sessionId);
    const refused = new FileTraceStore({ tracesDir }).open(sessionId);
    await expect(refused).rejects.toThrow(TraceLockedError);
    await expect(refused).rejects.toThrow(
      `session ${sessionId} is in use by this process (${process.pid}); end it or use another session`,
    );
    await first.close();
    await (await new FileTraceStore({ tracesDir }).open(sessionId)).close();
  });

  test("is one for all names of a directory", async () => {
    const tracesDir = temporaryDirectory();
    const link = join(temporaryDirectory(), "link");
    fs.symlinkSync(tracesDir, link);
    const lock = await acquireWriteLock(tracesDir, sessionId);
    await expect(acquireWriteLock(link, sessionId)).rejects.toThrow(TraceLockedError);
    await lock.release();
  });

  test("does not touch other Sessions, nor the same Session elsewhere", async () => {
    const tracesDir = temporaryDirectory();
    const places: [string, string][] = [
      [tracesDir, sessionId],
      [tracesDir, `${sessionId}x`],
      [temporaryDirectory(), sessionId],
    ];
    const refused: boolean[][] = [];
    const isHeld = async ([directory, id]: [string, string]): Promise<boolean> => {
      const lock = await acquireWriteLock(directory, id).catch(() => undefined);
      await lock?.release();
      return lock === undefined;
    };
    for (const [directory, id] of places) {
      const lock = await acquireWriteLock(directory, id);
      refused.push(await Promise.all(places.map(isHeld)));
      await lock.release();
    }
    expect(refused).toEqual([
      [true, false, false],
      [false, true, false],
      [false, false, true],
    ]);
  });

  test("names the process that has it, lets readers in, and ends with that process, however it ends", async () => {
    const tracesDir = temporaryDirectory();
    const store = new FileTraceStore({ tracesDir });
    const { child, answer } = await openElsewhere(tracesDir, "setInterval(() => {}, 1000);");
    expect(answer).toBe("open");
    const error: unknown = await store.open(sessionId).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TraceLockedError);
    expect(error).toMatchObject({
      pid: child.pid,
      message: expect.stringContaining(`in use by process ${child.pid};`),
    });
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(["from elsewhere"]);
    child.kill("SIGKILL");
    await once(child, "exit");
    const sink = await store.open(sessionId);
    await sink.write(build.userText("from here"));
    await sink.close();
    expect(textsOf((await store.read(sessionId)).messages)).toEqual(["from elsewhere", "from here"]);
  });

  test("refuses another process while this one has it, and keeps no process alive", async () => {
    const tracesDir = temporaryDirectory();
    const sink = await new FileTraceStore({ tracesDir }).open(sessionId);
    await sink.write(meta);
    const refused = await openElsewhere(tracesDir, "");
    expect(refused.answer).toContain(`is in use by process ${process.pid};`);
    await sink.close();
    // It holds the lock and has nothing else to do: it ends by itself.
    const { child, answer } = await openElsewhere(tracesDir, "");
    expect(answer).toBe("open");
    if (child.exitCode === null) await once(child, "exit");
    expect(child.exitCode).toBe(0);
  });

  test("leaves nothing in the directory but one private secret", async () => {
    const tracesDir = temporaryDirectory();
    await Promise.all(
      ["a", "b", "c"].map(async (id) => {
        const lock = await acquireWriteLock(tracesDir, id);
        await lock.release();
      }),
    );
    if (process.platform !== "linux") return;
    expect(fs.readdirSync(tracesDir)).toEqual([".lock-secret"]);
    expect(fs.statSync(join(tracesDir, ".lock-secret")).mode & 0o777).toBe(0o600);
  });
});
