/** One conversation, from a host's view. */
import type { NoticePayload, OmniMessage, SessionMetaPayload, ToolCallPayload } from "@coxswain/protocol";
import type { ContextEngine, EngineActivity } from "../engine/context-engine.ts";
import type { Clock, EnvironmentInterface, LLMInterface, Preview, RunOptions } from "../engine/ports.ts";
import { wordsOf } from "../shared/error-words.ts";
import { endedCommandsWords, type RunningCommand } from "./ended-commands.ts";
import { type HistoryOptions, readHistory, type RecordedMessages } from "./history.ts";
import { generateTitle } from "./title.ts";

export interface SessionParts {
  /** What its Trace is filed under. */
  id: string;
  engine: ContextEngine;
  meta: OmniMessage<SessionMetaPayload>;
  environment: EnvironmentInterface;
  /** Commands that run in the background now. */
  runningCommands(): readonly RunningCommand[];
  /** Bounds its end. */
  clock: Clock;
  contexts(): RecordedMessages;
  /** @throws What a Trace that is not whole says. */
  closeTrace(): Promise<void> | undefined;
  /** A model context of its own, without a system prompt. */
  openSideContext(): LLMInterface;
  /** What was noticed while the Session was opened. */
  notices: readonly NoticePayload[];
}

/** What the end of an Environment may take; that of our own takes half of it at most, unless a disk or a system call hangs. */
const maxEnvironmentEndMs = 10_000;

/**
 * Told of what happens. What a listener throws reaches neither whoever caused the notice nor the other listeners: it
 * becomes a warning of the process.
 */
export type NoticeListener = (notice: NoticePayload) => void;

export class Session {
  readonly #parts: SessionParts;
  readonly #listeners = new Set<NoticeListener>();
  readonly #waitingNotices: NoticePayload[];
  readonly #ending = new AbortController();
  #disposed: Promise<void> | undefined;

  constructor(parts: SessionParts) {
    this.#parts = parts;
    this.#waitingNotices = [...parts.notices];
    parts.engine.onReport(({ summary }) =>
      this.#tell({ type: "notice", level: "info", code: "background_ended", message: summary }),
    );
  }

  get id(): string {
    return this.#parts.id;
  }

  get meta(): SessionMetaPayload {
    return this.#parts.meta.payload;
  }

  get state(): EngineActivity {
    return this.#parts.engine.activity;
  }

  /** See `ContextEngine.run`. */
  run(newMessages: OmniMessage[], options: RunOptions = {}): AsyncGenerator<OmniMessage, void> {
    return this.#parts.engine.run(newMessages, options);
  }

  /** See `ContextEngine.compact`. */
  compact(options: Pick<RunOptions, "signal"> = {}): AsyncGenerator<OmniMessage, void> {
    return this.#parts.engine.compact(options);
  }

  compactability(): ReturnType<ContextEngine["compactability"]> {
    return this.#parts.engine.compactability();
  }

  /** See `ContextEngine.steer`. */
  steer(text: string): boolean {
    return this.#parts.engine.steer(text);
  }

  skipReconnectWait(): boolean {
    return this.#parts.engine.skipReconnectWait();
  }

  /** What a call would do, for whoever decides it. `undefined`: nobody can say. */
  async preview(toolCall: OmniMessage<ToolCallPayload>): Promise<Preview | undefined> {
    return this.#parts.environment.preview?.(toolCall);
  }

  /**
   * A few words for a list, by the Session's model; `null` when nothing was said yet, the model does not answer, or the
   * Session is disposed of.
   */
  generateTitle(): Promise<string | null> {
    return generateTitle(() => this.#parts.openSideContext(), this.history(), this.#ending.signal);
  }

  /** What a reader of the Session has seen, oldest first, over all model contexts. */
  history(options: HistoryOptions = {}): AsyncIterable<OmniMessage> {
    return readHistory(this.#parts.contexts(), options);
  }

  /** Called with what happens while nothing runs, and at once with what happened before anybody listened. */
  onNotice(listener: NoticeListener): () => void {
    this.#listeners.add(listener);
    for (const notice of this.#waitingNotices.splice(0)) tell(listener, notice);
    return () => this.#listeners.delete(listener);
  }

  /** Interrupts what runs, ends child processes, closes files. Idempotent. */
  dispose(): Promise<void> {
    this.#disposed ??= this.#end();
    return this.#disposed;
  }

  async #end(): Promise<void> {
    this.#ending.abort(new Error("the Session is disposed of"));
    try {
      await this.#parts.engine.close();
    } finally {
      try {
        await this.#endEnvironment();
      } finally {
        // Only now: whoever takes the Session up must not meet what it still had running.
        await this.#closeTrace();
        this.#listeners.clear();
      }
    }
  }

  /** One that does not end must not keep the Session from whoever wants to go on with it. */
  async #endEnvironment(): Promise<void> {
    const { environment, clock } = this.#parts;
    const running = this.#parts.runningCommands();
    const over = new AbortController();
    let isEnded = false;
    const ended = (async () => {
      await environment.dispose?.();
      return true;
    })();
    try {
      isEnded = await Promise.race([ended, clock.sleep(maxEnvironmentEndMs, over.signal).then(() => false)]);
    } finally {
      over.abort();
      const words = endedCommandsWords(running, this.#parts.runningCommands());
      if (words !== undefined) this.#tell({ type: "notice", level: "info", code: "commands_ended", message: words });
    }
    if (isEnded) return;
    const message =
      `the environment of this Session has not ended within ${maxEnvironmentEndMs / 1000} s and is left; ` +
      "what it runs may go on, and the Session can be resumed";
    this.#tell({ type: "notice", level: "warning", code: "environment_left", message });
  }

  async #closeTrace(): Promise<void> {
    try {
      await this.#parts.closeTrace();
    } catch (error) {
      this.#tell({ type: "notice", level: "error", code: "trace_incomplete", message: wordsOf(error) });
    }
  }

  #tell(notice: NoticePayload): void {
    if (this.#listeners.size === 0) this.#waitingNotices.push(notice);
    for (const listener of this.#listeners) tell(listener, notice);
  }
}

function tell(listener: NoticeListener, notice: NoticePayload): void {
  try {
    listener(notice);
  } catch (error) {
    process.emitWarning(error instanceof Error ? error : String(error));
  }
}
