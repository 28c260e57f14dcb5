/** The body of an answer, read as server-sent events: one batch of stream parts for each network read. */
import type { Fault } from "../fault/provider-fault.ts";
import { errorIn } from "../http/error-event.ts";
import { EventReader, type EventReaderOptions, type EventSink } from "../http/event-reader.ts";
import type { PartBatch, PartBatches } from "../part-batches.ts";
import { ChunkReader, type ChunkReaderOptions } from "./chunks.ts";

export class ChatEventStream implements PartBatches, EventSink {
  readonly #events: EventReader;
  readonly #chunks: ChunkReader;

  constructor(body: ReadableStream<Uint8Array>, options: ChunkReaderOptions & EventReaderOptions) {
    this.#chunks = new ChunkReader(options);
    this.#events = new EventReader(body, this, options);
  }

  get isDone(): boolean {
    return this.#chunks.isDone;
  }

  async next(): Promise<PartBatch | undefined> {
    if (this.isDone) return undefined;
    await this.#events.read();
    return this.#chunks.takeParts();
  }

  cancel(): void {
    this.#events.release();
  }

  accept(event: unknown, _data: string, name: string | undefined): void {
    const error = errorIn(event, name);
    if (error === undefined) this.#chunks.accept(event);
    else this.fail({ kind: "error_object", error });
  }

  fail(fault: Fault): void {
    this.#chunks.fail(fault);
  }

  end(how: string): void {
    this.#chunks.end(`${how} without a finish reason`);
  }
}
