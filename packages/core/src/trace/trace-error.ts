/** What can go wrong with a Trace, told in one line with what to do about it. */
export type TraceErrorCode =
  | "invalid_id"
  | "not_found"
  | "unreadable"
  | "locked"
  | "unsafe_path"
  | "write_failed"
  | "closed";

export class TraceError extends Error {
  override readonly name: string = "TraceError";
  readonly code: TraceErrorCode;

  constructor(code: TraceErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

/** Another writer holds the Session. */
export class TraceLockedError extends TraceError {
  override readonly name = "TraceLockedError";
  readonly sessionId: string;
  /** Of the holder, when it could be asked. */
  readonly pid: number | undefined;

  constructor(sessionId: string, pid: number | undefined) {
    super("locked", `session ${sessionId} is in use by ${holder(pid)}; end it or use another session`);
    this.sessionId = sessionId;
    this.pid = pid;
  }
}

function holder(pid: number | undefined): string {
  if (pid === undefined) return "another process, which does not answer";
  return pid === process.pid ? `this process (${pid})` : `process ${pid}`;
}

/** A record is not on disk (or, when it had to be durable, not known to be). */
export class TraceWriteError extends TraceError {
  override readonly name = "TraceWriteError";
  /** Whether the record waits in memory and will be written, in order, once the disk works again. */
  readonly heldBack: boolean;
  /** With durability `power`: nothing that has an effect may start before a write succeeds again. */
  readonly blocksEffects: boolean;

  constructor(message: string, details: { heldBack: boolean; blocksEffects: boolean; cause?: unknown }) {
    super("write_failed", message, { cause: details.cause });
    this.heldBack = details.heldBack;
    this.blocksEffects = details.blocksEffects;
  }
}
