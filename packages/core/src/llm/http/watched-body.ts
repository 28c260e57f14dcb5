/**
 * The body of a good answer on its way to a provider package: whole events only, and none that reports an error. A
 * body that goes wrong ends well here and tells its fault beside, so that nothing is lost of what came before.
 */
import { isRecord, type JsonRecord } from "../../shared/json.ts";
import type { Fault } from "../fault/provider-fault.ts";
import { errorIn } from "./error-event.ts";
import { EventReader, type EventReaderOptions, type EventSink } from "./event-reader.ts";

export interface WatchedBodyOptions extends EventReaderOptions {
  /** Called before the body ends; at most once. */
  onFault: (fault: Fault) => void;
}

/** After one of these nothing comes, although some servers keep the connection open. */
const lastEvents = new Set(["message_stop", "response.completed", "response.incomplete", "response.failed"]);
const encoder = new TextEncoder();

export function watchedBody(
  body: ReadableStream<Uint8Array>,
  options: WatchedBodyOptions,
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const sink = new GoodEvents(options);
  const reader = new EventReader(body, sink, options);
  let isCancelled = false;
  return new ReadableStream(
    {
      async pull(controller) {
        while (sink.isEmpty && !sink.isDone) await reader.read();
        if (isCancelled) return;
        if (!sink.isEmpty) controller.enqueue(encoder.encode(sink.take()));
        if (!sink.isDone) return;
        controller.close();
        reader.release();
      },
      cancel() {
        isCancelled = true;
        reader.release();
      },
    },
    { highWaterMark: 0 },
  );
}

class GoodEvents implements EventSink {
  isDone = false;
  readonly #options: WatchedBodyOptions;
  #text = "";

  constructor(options: WatchedBodyOptions) {
    this.#options = options;
  }

  get isEmpty(): boolean {
    return this.#text === "";
  }

  take(): string {
    const text = this.#text;
    this.#text = "";
    return text;
  }

  accept(event: unknown, data: string, name: string | undefined): void {
    const error = errorIn(event, name);
    if (error !== undefined) this.fail({ kind: "error_object", error });
    const forwarded = error === undefined ? (withCounts(event) ?? data) : withoutError(event);
    if (forwarded !== undefined) this.#text += `data: ${forwarded.replaceAll("\n", "\ndata: ")}\n\n`;
    if (isRecord(event) && lastEvents.has(String(event["type"]))) this.end();
  }

  fail(fault: Fault): void {
    this.isDone = true;
    this.#options.onFault(fault);
  }

  end(): void {
    this.isDone = true;
  }
}

/** Servers that speak as Anthropic does may count nothing, or later; the package reads no beginning or end without. */
function withCounts(event: unknown): string | undefined {
  if (!isRecord(event)) return undefined;
  if (event["type"] === "message_delta" && !hasCounts(event["usage"], "output_tokens")) {
    return JSON.stringify({ ...event, usage: counted(event["usage"], "output_tokens") });
  }
  const { message } = event;
  if (event["type"] !== "message_start" || !isRecord(message) || hasCounts(message["usage"], "input_tokens")) {
    return undefined;
  }
  return JSON.stringify({ ...event, message: { ...message, usage: counted(message["usage"], "input_tokens") } });
}

function hasCounts(usage: unknown, name: string): boolean {
  return isRecord(usage) && typeof usage[name] === "number";
}

function counted(usage: unknown, name: string): JsonRecord {
  return { ...(isRecord(usage) && usage), [name]: 0 };
}

/** What a failed answer cost is told in the same event. */
function withoutError(event: unknown): string | undefined {
  if (!isRecord(event) || event["type"] !== "response.failed" || !isRecord(event["response"])) return undefined;
  // Not every server numbers its events, and the package reads none of this kind without.
  return JSON.stringify({ sequence_number: 0, ...event, response: { ...event["response"], error: null } });
}
