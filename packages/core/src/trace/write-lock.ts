/**
 * One writer per Session, across processes. The lock is held by the kernel for the process, so that it ends with it,
 * however that happens.
 */
import { createHash, randomBytes } from "node:crypto";
import * as fs from "node:fs";
import type { Server } from "node:net";
import { join } from "node:path";
import { readOurFile } from "./safe-files.ts";
import { errnoOf } from "../shared/error-words.ts";
import { TraceError, TraceLockedError } from "./trace-error.ts";

export interface WriteLock {
  release(): Promise<void>;
}

/** How long a holder has to say who it is. */
const holderAnswerMs = 500;
const secretName = ".lock-secret";
// Of BSD systems and macOS; Node names neither.
const exclusiveLock = 0x20;
const maxPidLength = 12;

/**
 * @param tracesDir An existing directory.
 * @throws TraceLockedError
 */
export async function acquireWriteLock(tracesDir: string, sessionId: string): Promise<WriteLock> {
  if (process.platform === "linux") return lockBySocket(tracesDir, sessionId);
  if (process.platform === "win32") throw new TraceError("locked", "Windows is not supported; use WSL");
  return lockByFile(tracesDir, sessionId);
}

/** An abstract socket has no file that could be left behind. */
async function lockBySocket(tracesDir: string, sessionId: string): Promise<WriteLock> {
  const path = `\0coxswain-${socketName(tracesDir, sessionId)}`;
  const { createServer } = await import("node:net");
  const server = createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.end(String(process.pid), () => socket.destroy());
  });
  try {
    // Exclusive: workers of a cluster would share the socket otherwise.
    await listen(server, { path, exclusive: true });
  } catch (error) {
    if (errnoOf(error) === "EADDRINUSE") throw new TraceLockedError(sessionId, await askHolder(path));
    throw error;
  }
  server.unref();
  return { release: () => new Promise((resolve) => void server.close(() => resolve())) };
}

function listen(server: Server, options: { path: string; exclusive: boolean }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(options, () => {
      server.off("error", reject);
      server.on("error", () => undefined);
      resolve();
    });
  });
}

/** The name holds a secret of the directory, so that no other user can take it first. */
function socketName(tracesDir: string, sessionId: string): string {
  const place = fs.realpathSync.native(tracesDir);
  const parts = [String(process.getuid?.()), lockSecret(place), place, sessionId];
  return createHash("sha256").update(parts.join("\0")).digest("hex");
}

function lockSecret(directory: string): string {
  const path = join(directory, secretName);
  if (!fs.existsSync(path)) createSecret(directory, path);
  return readOurFile(path).trim();
}

/** Two processes may do this at once: a link appears whole, and only the first one stays. */
function createSecret(directory: string, path: string): void {
  const draft = join(directory, `${secretName}-${randomBytes(8).toString("hex")}`);
  fs.writeFileSync(draft, randomBytes(32).toString("hex"), { flag: "wx", mode: 0o600 });
  try {
    fs.linkSync(draft, path);
  } catch (error) {
    if (errnoOf(error) !== "EEXIST") throw error;
  } finally {
    fs.unlinkSync(draft);
  }
}

async function askHolder(path: string): Promise<number | undefined> {
  const { connect } = await import("node:net");
  return new Promise((resolve) => {
    let answer = "";
    const socket = connect({ path });
    socket.setEncoding("utf8");
    socket.setTimeout(holderAnswerMs, () => socket.destroy());
    socket.on("data", (text: string) => {
      answer += text;
      if (answer.length > maxPidLength) socket.destroy();
    });
    socket.on("error", () => socket.destroy());
    socket.on("close", () => resolve(parsePid(answer)));
  });
}

function parsePid(text: string): number | undefined {
  return /^\d{1,10}$/.test(text) ? Number(text) : undefined;
}

/** Locks of `open(2)` belong to the open file, so they hold within one process too. */
function lockByFile(tracesDir: string, sessionId: string): WriteLock {
  const path = join(tracesDir, `.${sessionId}.lock`);
  const { O_CREAT, O_NOFOLLOW, O_NONBLOCK, O_RDWR } = fs.constants;
  let descriptor: number;
  try {
    descriptor = fs.openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | exclusiveLock, 0o600);
  } catch (error) {
    const code = errnoOf(error);
    if (code !== "EAGAIN" && code !== "EWOULDBLOCK") throw error;
    throw new TraceLockedError(sessionId, parsePid(fs.readFileSync(path, "utf8")));
  }
  fs.ftruncateSync(descriptor, 0);
  fs.writeSync(descriptor, String(process.pid), 0);
  return {
    release: () => {
      fs.closeSync(descriptor);
      return Promise.resolve();
    },
  };
}
