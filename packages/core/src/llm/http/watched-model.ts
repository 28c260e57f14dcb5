/** A model of a provider package over our transport: its faults are told as ours, after everything that came before. */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3StreamPart,
  LanguageModelV3StreamResult,
} from "@ai-sdk/provider";
import { shortened } from "../../shared/cut.ts";
import { type Fault, type HideKeys, ProviderFault, toProviderFault } from "../fault/provider-fault.ts";
import { BatchedPartStream, type PartBatch, type PartBatches } from "../part-batches.ts";
import { streamingModel } from "../streaming-model.ts";
import { type FetchFunction, keyHider, modelFetch } from "./model-fetch.ts";
import { watchedBody } from "./watched-body.ts";

/** Characters of the word for an end. */
const longestWord = 100;

export interface WatchedModelOptions {
  fetch: FetchFunction;
  /** Taken out of whatever the server says. */
  apiKey: string | undefined;
  /** Called once for each request, and must cost little: only so is it known which request a `fetch` is for. */
  create: (fetch: FetchFunction) => LanguageModelV3;
}

export function watchedModel({ fetch, apiKey, create }: WatchedModelOptions): LanguageModelV3 {
  const hideKeys = keyHider(apiKey);
  const post = modelFetch({ fetch, hideKeys });
  const { provider, modelId, supportedUrls } = create(post);
  return streamingModel({
    provider,
    modelId,
    supportedUrls,
    doStream: (options) => startWatched(create, new RequestWatch(post, hideKeys), options),
  });
}

async function startWatched(
  create: WatchedModelOptions["create"],
  watch: RequestWatch,
  options: LanguageModelV3CallOptions,
): Promise<LanguageModelV3StreamResult> {
  try {
    const result = await create(watch.fetch).doStream(options);
    return { ...result, stream: new BatchedPartStream(new WatchedParts(result.stream, watch)) };
  } catch (error) {
    if (options.abortSignal?.aborted === true) throw error;
    throw watch.faultOf(error);
  }
}

/** What is found on the way of one request. */
class RequestWatch {
  /** The first; whatever a package makes of it is its consequence. */
  fault: ProviderFault | undefined;
  readonly hideKeys: HideKeys;
  readonly #post: FetchFunction;

  constructor(post: FetchFunction, hideKeys: HideKeys) {
    this.#post = post;
    this.hideKeys = hideKeys;
  }

  readonly fetch: FetchFunction = async (url, init) => {
    const response = await this.#post(url, init);
    const { body, status, headers } = response;
    if (body === null) throw new ProviderFault({ kind: "truncated", detail: "the answer has no body" });
    const isAborted = (): boolean => init?.signal?.aborted === true;
    const onFault = (fault: Fault): void => void (this.fault ??= new ProviderFault(fault, this.hideKeys));
    return new Response(watchedBody(body, { isAborted, onFault }), { status, headers });
  };

  faultOf(error: unknown): ProviderFault {
    if (this.fault !== undefined) return this.fault;
    const found = toProviderFault(error);
    return new ProviderFault(found.fault, (text) => this.hideKeys(found.hideKeys(text)));
  }
}

class WatchedParts implements PartBatches {
  readonly #reader: ReadableStreamDefaultReader<LanguageModelV3StreamPart>;
  readonly #watch: RequestWatch;
  #isOver = false;

  constructor(stream: ReadableStream<LanguageModelV3StreamPart>, watch: RequestWatch) {
    this.#reader = stream.getReader();
    this.#watch = watch;
  }

  async next(): Promise<PartBatch | undefined> {
    if (this.#isOver) return undefined;
    try {
      const { done, value } = await this.#reader.read();
      if (done) return this.#end([]);
      if (value.type === "finish") return this.#end([withShownWord(value, this.#watch.hideKeys)]);
      if (value.type === "error") hideIn(value.error, this.#watch.hideKeys);
      return [value];
    } catch (error) {
      return this.#end([{ type: "error", error: this.#watch.faultOf(error) }]);
    }
  }

  cancel(): void {
    this.#reader.cancel().catch(() => undefined);
  }

  /** The fault comes before the end of which it is the reason, and in one batch with what the request cost. */
  #end(last: LanguageModelV3StreamPart[]): PartBatch | undefined {
    this.#isOver = true;
    const { fault } = this.#watch;
    const isTold = fault === undefined || last[0]?.type === "error";
    const parts: LanguageModelV3StreamPart[] = isTold ? last : [{ type: "error", error: fault }, ...last];
    return parts.length === 0 ? undefined : parts;
  }
}

type Finish = Extract<LanguageModelV3StreamPart, { type: "finish" }>;

/** The server's own word for the end, as it may be recorded. */
function withShownWord(part: Finish, hideKeys: HideKeys): Finish {
  const { unified, raw } = part.finishReason;
  if (raw === undefined) return part;
  return { ...part, finishReason: { unified, raw: shortened(hideKeys(raw), longestWord) } };
}

/** The class of the error says what it is, so it stays the same one. */
function hideIn(error: unknown, hideKeys: HideKeys): void {
  if (error instanceof Error && !(error instanceof ProviderFault)) error.message = hideKeys(error.message);
}
