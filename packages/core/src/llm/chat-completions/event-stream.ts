/** The body of an answer, read as server-sent events: one batch of stream parts for each network read. */
import { createParser, type EventSourceParser } from "eventsource-parser";
import { shortened } from "../../shared/cut.ts";
import { isRecord, parseJson } from "../../shared/json.ts";
import type { PartBatch, PartBatches } from "../context/part-batches.ts";
import { ChunkReader, type ChunkReaderOptions } from "./chunks.ts";

/** Characters of one event. */
const maxEventLength = 32 * 1024 * 1024;
/** Characters kept of a body that has shown no event yet: it may be an error in another shape. */
const keptLength = 64 * 1024;
/** Characters shown of what cannot be read. */
const excerptLength = 200;
/** How long a connection may take to end after its last event before it is given up instead of being used again. */
const drainMs = 250;

export class ChatEventStream implements PartBatches {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  readonly #chunks: ChunkReader;
  readonly #parser: EventSourceParser;
  readonly #isAborted: () => boolean;
  #hasEvents = false;
  #beginning = "";
  #isAtEnd = false;
  #isOver = false;

  /** @param isAborted Whether the caller has given up: then a failing read is his doing. */
  constructor(body: ReadableStream<Uint8Array>, options: ChunkReaderOptions, isAborted: () => boolean) {
    this.#reader = body.getReader();
    this.#chunks = new ChunkReader(options);
    this.#isAborted = isAborted;
    this.#parser = createParser({
      maxBufferSize: maxEventLength,
      onEvent: (event) => this.#acceptEvent(event.data, event.event),
      onError: (error) => {
        if (error.type !== "max-buffer-size-exceeded") return;
        this.#chunks.fail({ kind: "unreadable", detail: `an event of more than ${maxEventLength} characters` });
      },
    });
  }

  async next(): Promise<PartBatch | undefined> {
    if (this.#chunks.isDone) return undefined;
    try {
      const { done, value } = await this.#reader.read();
      if (done) this.#end();
      else this.#feed(this.#decoder.decode(value, { stream: true }));
    } catch (error) {
      if (this.#isAborted()) throw error;
      this.#isOver = true;
      this.#chunks.fail({ kind: "exception", error });
    }
    return this.#chunks.takeParts();
  }

  /** After the last event the body's end is read, so that the connection can be used again. */
  cancel(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const giveUp = (): void => void this.#reader.cancel().catch(() => undefined);
    if (!this.#chunks.isDone || this.#isAtEnd) return giveUp();
    const timer = setTimeout(giveUp, drainMs).unref();
    this.#reader
      .read()
      .then(({ done }) => {
        if (!done) giveUp();
      })
      .catch(() => undefined)
      .finally(() => clearTimeout(timer));
  }

  #feed(text: string): void {
    if (!this.#hasEvents && this.#beginning.length < keptLength) this.#beginning += text.slice(0, keptLength);
    this.#parser.feed(text);
  }

  #acceptEvent(data: string, event: string | undefined): void {
    this.#hasEvents = true;
    if (this.#chunks.isDone) return;
    if (data.charCodeAt(0) !== 0x7b && data.trim() === "[DONE]") {
      return this.#chunks.end("[DONE] came without a finish reason");
    }
    let chunk: unknown;
    try {
      chunk = JSON.parse(data);
    } catch {
      return this.#chunks.fail({
        kind: "unreadable",
        detail: `an event that is no JSON: ${shortened(data, excerptLength)}`,
      });
    }
    if (event === "error") return this.#chunks.fail({ kind: "error_object", error: chunk });
    // An event that the end of the body cut off counts only where nothing can be missing after it.
    if (this.#isAtEnd && !this.#chunks.hasFinishReason && !hasError(chunk)) {
      return this.#chunks.fail({ kind: "truncated", detail: "the body ended in the middle of an event" });
    }
    this.#chunks.accept(chunk);
  }

  #end(): void {
    this.#isAtEnd = true;
    this.#isOver = true;
    this.#feed(`${this.#decoder.decode()}\n\n`);
    if (!this.#hasEvents) this.#readOtherShape();
    this.#chunks.end("the body ended without a finish reason");
  }

  /** No event at all: an error as plain JSON, a page of a proxy, or nothing. */
  #readOtherShape(): void {
    const text = this.#beginning.trim();
    if (text === "") return;
    const value = parseJson(text);
    if (hasError(value)) return this.#chunks.fail({ kind: "error_object", error: value });
    const detail = `the body is no event stream: ${shortened(text, excerptLength)}`;
    if (!text.startsWith(":") && !/^(data|event|id|retry):/m.test(text))
      this.#chunks.fail({ kind: "unreadable", detail });
  }
}

function hasError(value: unknown): boolean {
  return (
    isRecord(value) && (Boolean(value["error"]) || value["object"] === "error" || typeof value["message"] === "string")
  );
}
