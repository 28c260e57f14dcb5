/**
 * What stands between a Task and its reader: the `AsyncGenerator` that `run` returns. No generator function runs
 * inside, so a message costs one promise and no more.
 */
import type { OmniMessage } from "@coxswain/protocol";
import { engineDefaults } from "./defaults.ts";

interface OutboxHandlers {
  /** The first `next()`. A rejection is the caller's mistake and reaches the reader as such. */
  start(): Promise<void>;
  /** The reader stops early. */
  stop(): void;
}

/** Also takes a promise that rejects. */
type Waiter = (result: IteratorResult<OmniMessage, void> | Promise<never>) => void;

const done: IteratorResult<OmniMessage, void> = { done: true, value: undefined };

export class Outbox implements AsyncGenerator<OmniMessage, void> {
  readonly #handlers: OutboxHandlers;
  #queue: OmniMessage[] = [];
  #head = 0;
  #bytes = 0;
  /** Nearly always the only one. */
  #reader: Waiter | undefined;
  #furtherReaders: Waiter[] = [];
  /** Made once: a closure for each message would be half of its cost. */
  readonly #addReader = (resolve: Waiter): void => {
    if (this.#reader === undefined) this.#reader = resolve;
    else this.#furtherReaders.push(resolve);
  };
  #wakeOnRoom: (() => void) | undefined;
  #wakeOnDrained: (() => void) | undefined;
  #running: Promise<void> | undefined;
  #ended = false;
  #stopped = false;

  constructor(handlers: OutboxHandlers) {
    this.#handlers = handlers;
  }

  push(message: OmniMessage): void {
    if (this.#stopped || this.#ended) return;
    const reader = this.#takeReader();
    if (reader !== undefined) return reader({ done: false, value: message });
    this.#queue.push(message);
    this.#bytes += sizeOf(message);
  }

  /** The engine has run so far ahead of its reader that it must not read on from the model. */
  get isFull(): boolean {
    return (
      this.#queue.length - this.#head >= engineDefaults.readAheadMessages ||
      this.#bytes >= engineDefaults.readAheadBytes
    );
  }

  /** Resolves once it is not full. One caller at a time. */
  room(): Promise<void> {
    if (!this.isFull || this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakeOnRoom = resolve;
    });
  }

  /** Resolves once the reader has taken every message and asks for the next. One caller at a time. */
  drained(): Promise<void> {
    if (this.#isDrained || this.#stopped) return Promise.resolve();
    return new Promise((resolve) => {
      this.#wakeOnDrained = resolve;
    });
  }

  next(): Promise<IteratorResult<OmniMessage, void>> {
    if (this.#head < this.#queue.length) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#ended || this.#stopped) return Promise.resolve(done);
    const result = new Promise<IteratorResult<OmniMessage, void>>(this.#addReader);
    if (this.#running === undefined) this.#start();
    else if (this.#wakeOnDrained !== undefined) this.#wakeDrained();
    return result;
  }

  /** Interrupts the Task; resolves once nothing of it runs any more. */
  async return(): Promise<IteratorResult<OmniMessage, void>> {
    if (!this.#stopped) {
      this.#stopped = true;
      this.#queue = [];
      this.#head = 0;
      this.#bytes = 0;
      if (this.#running !== undefined && !this.#ended) this.#handlers.stop();
      this.#wakeDrained();
      this.#wakeRoom();
    }
    await this.#running;
    this.#dismissReaders();
    return done;
  }

  async throw(error: unknown): Promise<IteratorResult<OmniMessage, void>> {
    await this.return();
    throw error;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.return();
  }

  #start(): void {
    this.#running = this.#handlers.start().then(
      () => this.#end(),
      (error: unknown) => {
        const reader = this.#takeReader();
        this.#end();
        reader?.(Promise.reject(error instanceof Error ? error : new Error(String(error))));
      },
    );
  }

  #end(): void {
    this.#ended = true;
    this.#dismissReaders();
  }

  #takeReader(): Waiter | undefined {
    const reader = this.#reader;
    if (reader !== undefined) {
      this.#reader = this.#furtherReaders.length === 0 ? undefined : this.#furtherReaders.shift();
    }
    return reader;
  }

  #dismissReaders(): void {
    for (let reader = this.#takeReader(); reader !== undefined; reader = this.#takeReader()) reader(done);
  }

  get #isDrained(): boolean {
    return this.#head >= this.#queue.length && this.#reader !== undefined;
  }

  #take(): OmniMessage {
    const message = this.#queue[this.#head] as OmniMessage;
    this.#head += 1;
    this.#bytes -= sizeOf(message);
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
      this.#bytes = 0;
    }
    if (this.#wakeOnRoom !== undefined && !this.isFull) this.#wakeRoom();
    return message;
  }

  #wakeRoom(): void {
    this.#wakeOnRoom?.();
    this.#wakeOnRoom = undefined;
  }

  #wakeDrained(): void {
    this.#wakeOnDrained?.();
    this.#wakeOnDrained = undefined;
  }
}

/** About how many bytes a message holds. */
function sizeOf(message: OmniMessage): number {
  const payload = message.payload;
  switch (payload.type) {
    case "partial_text":
    case "text":
      return lengthOf(payload.text);
    case "partial_thinking":
    case "thinking":
      return lengthOf(payload.thinking);
    case "partial_tool_call":
    case "tool_call":
      return lengthOf(payload.arguments);
    case "partial_tool_call_output":
    case "tool_call_output":
      return lengthOf(payload.output) + lengthOfAll(payload.images);
    case "inline_data":
    case "inline_thinking":
      return lengthOf(payload.data);
    default:
      return 0;
  }
}

/** Fragments and messages of children are shown as they come: any field may hold anything. */
function lengthOf(value: unknown): number {
  return typeof value === "string" ? value.length : 0;
}

function lengthOfAll(values: unknown): number {
  return Array.isArray(values) ? values.reduce<number>((sum, value) => sum + lengthOf(value), 0) : 0;
}
