/** The body of an answer, read as server-sent events, whatever it turns out to be. */
import { createParser, type EventSourceParser } from "eventsource-parser";
import { headOf } from "../../shared/cut.ts";
import type { Fault } from "../fault/provider-fault.ts";
import { foreignBodyFault } from "./foreign-body.ts";

/** Characters of one event. */
const maxEventLength = 32 * 1024 * 1024;
/** Characters kept of what cannot be read, and of a body that has shown no event yet: it may be an error in another shape. */
const keptLength = 64 * 1024;
/** How long a connection may take to end after its last event before it is given up instead of being used again. */
const drainMs = 250;

export interface EventSink {
  /** The last event has come, good or bad: nothing more is wanted. */
  readonly isDone: boolean;
  /** @param event The parsed `data`. */
  accept(event: unknown, data: string, name: string | undefined): void;
  /** At most once, and nothing after it. */
  fail(fault: Fault): void;
  /** `[DONE]`, or a clean end of the body; says which. */
  end(how: string): void;
}

export interface EventReaderOptions {
  /** Whether the caller has given up: then a failing read is his doing. */
  isAborted: () => boolean;
}

export class EventReader {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #parser: EventSourceParser;
  readonly #sink: EventSink;
  readonly #options: EventReaderOptions;
  #hasEvents = false;
  #beginning = "";
  #isAtEnd = false;
  #isReleased = false;

  constructor(body: ReadableStream<Uint8Array>, sink: EventSink, options: EventReaderOptions) {
    this.#reader = body.getReader();
    this.#sink = sink;
    this.#options = options;
    this.#parser = createParser({
      maxBufferSize: maxEventLength,
      onEvent: ({ data, event }) => {
        this.#hasEvents = true;
        // Without data it is no more than a sign of life.
        if (data !== "" && !sink.isDone) this.#accept(data, event);
      },
      onError: (error) => {
        if (error.type !== "max-buffer-size-exceeded") return;
        this.#fail({ kind: "unreadable", detail: `an event of more than ${maxEventLength} characters` });
      },
    });
  }

  /** One read of the network. Rejects only when the caller has given up. */
  async read(): Promise<void> {
    try {
      const { done, value } = await this.#reader.read();
      if (done) this.#end();
      else this.#feed(this.#decoder.decode(value, { stream: true }));
    } catch (error) {
      if (this.#options.isAborted()) throw error;
      this.#isReleased = true;
      this.#fail({ kind: "exception", error });
    }
  }

  /** Gives the body up. After the last event its end is read, so that the connection can be used again. Never throws. */
  release(): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    const giveUp = (): void => void this.#reader.cancel().catch(() => undefined);
    if (!this.#sink.isDone) return giveUp();
    const timer = setTimeout(giveUp, drainMs).unref();
    this.#reader
      .read()
      .then(({ done }) => {
        if (!done) giveUp();
      })
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  }

  #accept(data: string, name: string | undefined): void {
    if (data.charCodeAt(0) !== openBrace && data.trim() === "[DONE]") return this.#sink.end("[DONE] came");
    let event: unknown;
    try {
      event = JSON.parse(data);
    } catch {
      return this.#sink.fail(this.#isAtEnd ? cutEvent : noJson(data));
    }
    this.#sink.accept(event, data, name);
  }

  #feed(text: string): void {
    if (!this.#hasEvents && this.#beginning.length < keptLength) this.#beginning += text.slice(0, keptLength);
    this.#parser.feed(text);
  }

  #end(): void {
    this.#isAtEnd = true;
    this.#isReleased = true;
    // Whoever ends without the last line ends has said all the same what came before them.
    this.#feed(`${this.#decoder.decode()}\n\n`);
    if (!this.#hasEvents) {
      const fault = foreignBodyFault(this.#beginning);
      if (fault !== undefined) this.#fail(fault);
    }
    if (!this.#sink.isDone) this.#sink.end("the body ended");
  }

  #fail(fault: Fault): void {
    if (!this.#sink.isDone) this.#sink.fail(fault);
  }
}

const openBrace = 0x7b;
/** The blank line that should follow has not come. */
const cutEvent: Fault = { kind: "truncated", detail: "the body ended in the middle of an event" };

function noJson(data: string): Fault {
  return { kind: "unreadable", detail: `an event that is no JSON: ${headOf(data, keptLength)}` };
}
