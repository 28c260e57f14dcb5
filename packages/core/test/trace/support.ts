import * as fs from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBuilders, type OmniMessage, type TokenCounts } from "@coxswain/protocol";
import { onTestFinished } from "vitest";
import { TraceWriteError } from "../../src/trace/trace-error.ts";
import type { OpenedFile } from "../../src/trace/safe-files.ts";
import { FileTraceStore, type FileTraceStoreOptions } from "../../src/trace/file-trace-store.ts";
import { nodeDisk, type TraceDisk } from "../../src/trace/trace-disk.ts";

export const startMs = Date.UTC(2026, 0, 31, 12, 0, 0);
export const sessionId = "session-2026-01-31-12-00-00-0a1b2c3d";

let now = startMs;
/** Builders whose clock moves with each message. */
export const build = createBuilders(() => (now += 1000));

export const meta: OmniMessage = build.sessionMeta({
  session_id: sessionId,
  provider: "offline",
  model_id: "demo",
  model_context_window: 1000,
  system_prompt: "Be brief.",
  agent_state: "/state",
  workspace: "/workspace",
});

export function counts(total: number): TokenCounts {
  return { input: total - 5, cache_read: 0, cache_write: 0, output: 5, total };
}

/** A directory that is gone after the test. */
export function temporaryDirectory(): string {
  const path = fs.mkdtempSync(join(tmpdir(), "coxswain-trace-"));
  onTestFinished(() => fs.rmSync(path, { recursive: true, force: true }));
  return path;
}

/** Puts a file where a Session of this id has it. */
export function plantTrace(tracesDir: string, text: string | Uint8Array, id: string = sessionId, context = 1): string {
  const folder = join(tracesDir, id.slice("session-".length, "session-".length + 10));
  fs.mkdirSync(folder, { recursive: true, mode: 0o700 });
  const path = join(folder, `${id}_${String(context).padStart(3, "0")}.jsonl`);
  fs.writeFileSync(path, text, { mode: 0o600 });
  return path;
}

export function lines(...messages: OmniMessage[]): string {
  return messages.map((message) => `${JSON.stringify(message)}\n`).join("");
}

/** Text of every message that has one. */
export function textsOf(messages: OmniMessage[]): string[] {
  return messages.flatMap((message) => ("text" in message.payload ? [message.payload.text] : []));
}

function systemError(code: string): Error {
  return Object.assign(new Error(`${code}: planted`), { code });
}

/** The real disk behind switches: it can fail, take few bytes at a time, take long, and not answer. */
export class SwitchedDisk implements TraceDisk {
  /** The error of every write, once `freeBytes` are used up. */
  error: string | undefined;
  freeBytes = 0;
  maxBytesAtOnce = Number.POSITIVE_INFINITY;
  syncError: string | undefined;
  /** Milliseconds that a synchronous write takes, by this disk's clock. */
  syncWriteMs = 0;
  /** What happened, in order. */
  readonly events: string[] = [];
  #nowMs = 0;
  #gate: Promise<void> | undefined;
  #openGate: (() => void) | undefined;

  /** Asynchronous writes wait until `answer`. */
  hang(): void {
    this.#gate = new Promise((resolve) => {
      this.#openGate = resolve;
    });
  }

  answer(): void {
    this.#gate = undefined;
    this.#openGate?.();
  }

  pass(ms: number): void {
    this.#nowMs += ms;
  }

  #room(length: number): number {
    const wanted = Math.min(length, this.maxBytesAtOnce);
    if (this.error === undefined) return wanted;
    if (this.freeBytes === 0) throw systemError(this.error);
    const room = Math.min(wanted, this.freeBytes);
    this.freeBytes -= room;
    return room;
  }

  openForAppend(path: string, mustBeNew: boolean): OpenedFile {
    this.events.push("open");
    return nodeDisk.openForAppend(path, mustBeNew);
  }

  isRemoved(descriptor: number, path: string): boolean {
    return nodeDisk.isRemoved(descriptor, path);
  }

  writeSync(descriptor: number, bytes: Uint8Array, offset: number, length: number): number {
    this.events.push("writeSync");
    this.pass(this.syncWriteMs);
    return nodeDisk.writeSync(descriptor, bytes, offset, this.#room(length));
  }

  async write(descriptor: number, bytes: Uint8Array, offset: number, length: number): Promise<number> {
    this.events.push("write");
    await this.#gate;
    return nodeDisk.write(descriptor, bytes, offset, this.#room(length));
  }

  async sync(): Promise<void> {
    this.events.push("sync");
    await Promise.resolve();
    if (this.syncError !== undefined) throw systemError(this.syncError);
  }

  async syncDirectory(): Promise<void> {
    this.events.push("syncDirectory");
    await Promise.resolve();
  }

  close(descriptor: number): void {
    this.events.push("close");
    nodeDisk.close(descriptor);
  }

  nowMs(): number {
    return this.#nowMs;
  }
}

type Sink = Awaited<ReturnType<FileTraceStore["open"]>>;

/** A new Trace on a disk with switches. */
export async function opened(options: Partial<FileTraceStoreOptions> = {}): Promise<{
  disk: SwitchedDisk;
  sink: Sink;
  store: FileTraceStore;
  content: (context?: number) => Promise<string>;
}> {
  const disk = new SwitchedDisk();
  const store = new FileTraceStore({ tracesDir: temporaryDirectory(), disk, ...options });
  const sink = await store.open(sessionId);
  return {
    disk,
    sink,
    store,
    content: async (context) => fs.readFileSync(await store.path(sessionId, context), "utf8"),
  };
}

export const say = (text: string): OmniMessage => build.userText(text);

export async function failureOf(written: Promise<void>): Promise<TraceWriteError> {
  const error = await written.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (error instanceof TraceWriteError) return error;
  throw new Error(`expected a TraceWriteError, got ${String(error)}`);
}
