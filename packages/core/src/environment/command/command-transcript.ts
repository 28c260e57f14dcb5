/**
 * What a command prints: the part that no one has been given yet, and the live view of whoever watches. It is read
 * however much comes and whether anyone looks or not; what is kept of it is bounded.
 */
import { LineRewriter } from "../text/line-rewriter.ts";
import { OutputStore, type OutputStoreOptions } from "../text/output-store.ts";
import { TextGate } from "../text/text-gate.ts";
import { CommandOutput } from "./command-output.ts";
import { LiveFeed } from "./live-feed.ts";

/** A watcher gets text at most this often, unless there is much. */
const coalesceMs = 30;
const coalesceLength = 8 * 1024;

export interface CommandTranscriptOptions extends OutputStoreOptions {
  secrets: readonly string[];
}

export class CommandTranscript {
  readonly #options: CommandTranscriptOptions;
  readonly #output = new CommandOutput();
  /** One for all looks: a secret may be printed between two of them. */
  readonly #gate: TextGate;
  #lines = new LineRewriter();
  #unread: OutputStore;
  readonly #feeds = new Set<LiveFeed>();
  #takenAt = Number.NEGATIVE_INFINITY;
  #timer: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(options: CommandTranscriptOptions) {
    this.#options = options;
    this.#gate = new TextGate(options.secrets);
    this.#unread = new OutputStore(options);
  }

  push(bytes: Uint8Array): void {
    if (this.#ended) return;
    this.#output.push(bytes);
    if (this.#output.pendingLength >= coalesceLength) this.#take();
    else this.#takeSoon();
  }

  /** Nothing more comes. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#add(this.#gate.push(this.#output.takeAll()) + this.#gate.flush());
    this.#unread.append(this.#lines.takeAll());
    this.#unread.close();
    clearTimeout(this.#timer);
    for (const feed of this.#feeds) feed.close();
  }

  /** All since this was called last, at most `limit` characters: it is read from now on. */
  takeUnread(): string {
    if (!this.#ended) {
      this.#add(this.#gate.push(this.#output.takeSoFar()));
      this.#unread.append(this.#lines.takeAll());
    }
    const text = this.#unread.finish();
    this.#lines = new LineRewriter();
    this.#unread = new OutputStore(this.#options);
    return text;
  }

  /** What `takeUnread` would give once the command has ended, in at most so many characters; it stays unread. */
  showUnread(length: number): string {
    return this.#unread.finish(length);
  }

  /**
   * The live view from now on. To be closed.
   *
   * @param isAgain It goes on from another one, which has shown what is unread; else that stands in front of it.
   */
  watch(isAgain = false): LiveFeed {
    const feed = new LiveFeed(this.#options.limit, () => this.#feeds.delete(feed));
    // What is taken now is new to it, and a part of what is unread to one that begins.
    if (isAgain) this.#feeds.add(feed);
    if (!this.#ended) this.#take();
    if (!isAgain) feed.push(this.#unread.head + this.#lines.unfinished);
    if (this.#ended) feed.close();
    else this.#feeds.add(feed);
    return feed;
  }

  #takeSoon(): void {
    if (this.#feeds.size === 0 || this.#timer !== undefined) return;
    const waitMs = this.#takenAt + coalesceMs - performance.now();
    if (waitMs <= 0) this.#take();
    else this.#timer = setTimeout(() => this.#take(), waitMs);
  }

  #take(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#takenAt = performance.now();
    this.#add(this.#gate.push(this.#output.take()));
  }

  #add(text: string): void {
    this.#lines.push(text);
    this.#unread.append(this.#lines.takeLines());
    for (const feed of this.#feeds) feed.push(text);
  }
}
