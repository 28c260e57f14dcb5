/**
 * Stream parts in batches: one for each network read. Handling a batch at once saves a promise per part, which costs as
 * much as parsing it. To everyone else a batched stream is an ordinary stream of parts.
 */
import type { LanguageModelV3StreamPart } from "@ai-sdk/provider";

export type PartBatch = readonly LanguageModelV3StreamPart[];

export interface PartBatches {
  /** `undefined` at the end. One call at a time. A batch may be empty. */
  next(): Promise<PartBatch | undefined>;
  /** Gives up the source at once; never throws. */
  cancel(): void;
}

export class BatchedPartStream extends ReadableStream<LanguageModelV3StreamPart> {
  readonly #batches: PartBatches;

  constructor(batches: PartBatches) {
    super(
      {
        async pull(controller) {
          for (;;) {
            const batch = await batches.next();
            if (batch === undefined) return controller.close();
            for (const part of batch) controller.enqueue(part);
            if (batch.length > 0) return;
          }
        },
        cancel() {
          batches.cancel();
        },
      },
      { highWaterMark: 0 },
    );
    this.#batches = batches;
  }

  /** Instead of a reader; whoever takes the batches must not read the stream as well. */
  takeBatches(): PartBatches {
    return this.#batches;
  }
}

export function batchesOf(stream: ReadableStream<LanguageModelV3StreamPart>): PartBatches {
  if (stream instanceof BatchedPartStream) return stream.takeBatches();
  const reader = stream.getReader();
  return {
    async next() {
      const { done, value } = await reader.read();
      return done ? undefined : [value];
    },
    cancel() {
      reader.cancel().catch(() => undefined);
    },
  };
}
