/** Traces as files: JSON Lines, one file a model context. */
import { join } from "node:path";
import {
  type OmniMessage,
  type TokenCounts,
  isModelMessage,
  isPayload,
  isSessionMeta,
  readTokenCounts,
} from "@coxswain/protocol";
import type { SessionSummary, TraceContents, TraceSink, TraceStore } from "../engine/ports.ts";
import { createRecordEncoder, type RecordEncoder } from "./codec.ts";
import { DiskPace } from "./disk-pace.ts";
import { ensureTraceDirectory } from "./safe-files.ts";
import { assertSafeSessionId, dateOfSessionId, timeOfSessionId } from "./session-id.ts";
import { listSessions } from "./session-list.ts";
import { nodeDisk, type TraceDisk } from "./trace-disk.ts";
import { TraceError } from "./trace-error.ts";
import { type ContextFile, exists, findContexts, traceFileName } from "./trace-files.ts";
import { findFromEnd, findFromStart, readContext } from "./trace-reader.ts";
import { type TraceDurability, TraceWriter } from "./trace-writer.ts";
import { acquireWriteLock } from "./write-lock.ts";

export interface FileTraceStoreOptions {
  /** Absolute path; made when needed. */
  tracesDir: string;
  /** Default `process`. */
  durability?: TraceDurability | undefined;
  /** Says what day it is. Default: the system's. */
  clock?: { now(): number } | undefined;
  /** Texts that must never be written, such as keys. */
  secrets?: readonly string[] | undefined;
  /** Default: the file system. */
  disk?: TraceDisk | undefined;
}

/** An id this young cannot have files whose first two have been removed. */
const youngMs = 60_000;

export class FileTraceStore implements TraceStore {
  readonly #tracesDir: string;
  readonly #durability: TraceDurability;
  readonly #clock: { now(): number };
  readonly #encode: RecordEncoder;
  readonly #disk: TraceDisk;
  readonly #pace = new DiskPace();

  constructor(options: FileTraceStoreOptions) {
    this.#tracesDir = options.tracesDir;
    this.#durability = options.durability ?? "process";
    this.#clock = options.clock ?? Date;
    this.#encode = createRecordEncoder(options.secrets);
    this.#disk = options.disk ?? nodeDisk;
  }

  /**
   * Goes on with the file that `read` gives, or begins the Session's first one.
   *
   * @throws TraceLockedError while another writer has it
   * @throws TraceError for an unsafe id, or a place that is not ours
   */
  async open(sessionId: string): Promise<TraceSink & { close(): Promise<void> }> {
    assertSafeSessionId(sessionId);
    const folder = join(this.#tracesDir, this.#dayOf(sessionId));
    ensureTraceDirectory(this.#tracesDir, true);
    ensureTraceDirectory(folder, false);
    const lock = await acquireWriteLock(this.#tracesDir, sessionId);
    try {
      const files = await this.#filesToGoOnWith(sessionId, folder);
      const current = await newestSaid(files);
      const pathOf = (index: number): string =>
        files.find((file) => file.context === index)?.path ?? join(folder, traceFileName(sessionId, index));
      return new TraceWriter({
        disk: this.#disk,
        pace: this.#pace,
        encode: this.#encode,
        durability: this.#durability,
        pathOf,
        first: { index: current?.file.context ?? 1, isNew: current === undefined },
        meta: current?.meta,
        release: () => lock.release(),
      });
    } catch (error) {
      await lock.release();
      throw error;
    }
  }

  /** Looking through the folders is spared for an id that has just been made. */
  async #filesToGoOnWith(sessionId: string, folder: string): Promise<ContextFile[]> {
    const ageMs = this.#clock.now() - (timeOfSessionId(sessionId) ?? Number.NEGATIVE_INFINITY);
    const isThere = (context: number): boolean => exists(join(folder, traceFileName(sessionId, context)));
    if (Math.abs(ageMs) < youngMs && !isThere(1) && !isThere(2)) return [];
    return findContexts(this.#tracesDir, sessionId);
  }

  #dayOf(sessionId: string): string {
    return dateOfSessionId(sessionId) ?? new Date(this.#clock.now()).toISOString().slice(0, 10);
  }

  /**
   * @param options.context `newest`: the last one in which something was said.
   * @throws TraceError `not_found`
   */
  async read(sessionId: string, options: { context?: number | "newest" } = {}): Promise<TraceContents> {
    const files = await this.#existingFiles(sessionId);
    const wanted = options.context ?? "newest";
    const current = wanted === "newest" ? (await newestSaid(files))?.file.context : wanted;
    const position = files.findIndex((file) => file.context === current);
    if (position === -1) {
      const known = files.map((file) => file.context).join(", ");
      throw new TraceError("not_found", `session ${sessionId} has no context ${wanted}, only ${known}`);
    }
    return readAt(files, position);
  }

  async #existingFiles(sessionId: string): Promise<ContextFile[]> {
    assertSafeSessionId(sessionId);
    const files = await findContexts(this.#tracesDir, sessionId);
    if (files.length > 0) return files;
    throw new TraceError("not_found", `there is no session ${sessionId} in ${this.#tracesDir}`);
  }

  /** The Session that was active last comes first. */
  list(): AsyncIterable<SessionSummary> {
    return listSessions(this.#tracesDir);
  }

  /** Indices of the Session's model contexts, oldest first; none when there is no such Session. */
  async contexts(sessionId: string): Promise<number[]> {
    assertSafeSessionId(sessionId);
    return (await findContexts(this.#tracesDir, sessionId)).map((file) => file.context);
  }

  /**
   * The file of a model context, by default of the newest; where it would be, when there is none.
   *
   * @param context 1-based
   */
  async path(sessionId: string, context?: number): Promise<string> {
    assertSafeSessionId(sessionId);
    const files = await findContexts(this.#tracesDir, sessionId);
    const file = context === undefined ? files.at(-1) : files.find((one) => one.context === context);
    return file?.path ?? join(this.#tracesDir, this.#dayOf(sessionId), traceFileName(sessionId, context ?? 1));
  }
}

interface SaidFile {
  file: ContextFile;
  /** How it begins. */
  meta: OmniMessage | undefined;
}

/** The last file in which something was said, else the first. What is read is what is written to. */
async function newestSaid(files: readonly ContextFile[]): Promise<SaidFile | undefined> {
  for (const [position, file] of [...files.entries()].toReversed()) {
    const { isSaid, meta } = await readHead(file.path);
    if (isSaid || position === 0) return { file, meta };
  }
  return undefined;
}

async function readHead(path: string): Promise<{ isSaid: boolean; meta: OmniMessage | undefined }> {
  let meta: OmniMessage | undefined;
  try {
    const isSaid = await findFromStart(path, Number.POSITIVE_INFINITY, (messages) => {
      meta = messages.find(isSessionMeta);
      return messages.some(isModelMessage) ? true : undefined;
    });
    return { isSaid: isSaid === true, meta };
  } catch {
    // Whoever reads it or writes to it says what is wrong with it.
    return { isSaid: true, meta };
  }
}

async function readAt(files: ContextFile[], position: number): Promise<TraceContents> {
  const file = files[position];
  if (file === undefined) throw new RangeError(`there is no file ${position}`);
  const contents = await readContext(file.path);
  if (contents.messages.some((message) => isPayload(message, "token_usage"))) return contents;
  const usageBefore = await newestUsage(files.slice(0, position));
  return usageBefore === undefined ? contents : { ...contents, usageBefore };
}

async function newestUsage(files: ContextFile[]): Promise<TokenCounts | undefined> {
  for (const file of files.toReversed()) {
    const usage = await findFromEnd(file.path, Number.POSITIVE_INFINITY, lastUsage);
    if (usage !== undefined) return usage;
  }
  return undefined;
}

function lastUsage(messages: OmniMessage[]): TokenCounts | undefined {
  for (const message of messages.toReversed()) {
    if (isPayload(message, "token_usage")) return readTokenCounts(message.payload.session);
  }
  return undefined;
}
