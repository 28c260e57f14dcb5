/** Every default number of the engine, and the words that others share with it. */
export const engineDefaults = {
  maxTurns: 100,
  maxReconnects: 5,
  compactionMaxReconnects: 3,
  /** A clean end with neither text nor call is tried again this often. */
  maxEmptyReplies: 2,
  reconnectBackoffMs: 250,
  reconnectBackoffMaxMs: 30_000,
  /** How far the engine runs ahead of its reader. */
  readAheadMessages: 1024,
  readAheadBytes: 4 * 1024 * 1024,
  /** So many messages of one producer, then everybody else gets a turn. */
  messagesPerLoopTurn: 1024,
  /** How often a record is tried again without which no tool may start. */
  traceRetryMs: 1_000,
  /** The output of a call that an interrupt found unfinished. */
  interruptedPlaceholder: "[interrupted: tool aborted by user]",
  /** How long an interrupt waits for a Trace that does not answer. */
  interruptTraceWaitMs: 20,
} as const;
