/**
 * One request as an async generator written by hand: a queue between the model's parts and whoever reads, so that no
 * generator runs per message and a model that ignores its signal keeps nobody waiting. Reads the model only while
 * someone waits for a message.
 */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
} from "@ai-sdk/provider";
import { type Builders, emptyTokenCounts, type OmniMessage, type TokenCounts } from "@coxswain/protocol";
import type { Clock, LLMOutcome } from "../../engine/ports.ts";
import type { EventWatch, ProviderProfile } from "../provider/profile.ts";
import type { CallIds } from "../call-ids.ts";
import { Deadlines } from "./deadlines.ts";
import type { ModelTimeLimits } from "../model-settings.ts";
import { type Classification, classify } from "../fault/outcome.ts";
import { batchesOf, type PartBatch, type PartBatches } from "../part-batches.ts";
import { ProviderFault } from "../fault/provider-fault.ts";
import { Reply } from "./reply.ts";
import { toTokenCounts } from "./token-usage.ts";

export interface PreparedRequest {
  options: LanguageModelV3CallOptions;
  /** What the reader must know of the request, one line each. */
  problems: readonly string[];
  /** The tool's own name for the one that the model knows it by. */
  ownName: (declaredName: string) => string;
  /** Called when it ended badly. */
  refused?(told: Classification): void;
  /** Called when the reader takes the `token_usage`, which says so. */
  commit(reply: readonly OmniMessage[], counts: TokenCounts | undefined): void;
}

export interface GenerationOptions {
  model: LanguageModelV3;
  profile: ProviderProfile;
  limits: ModelTimeLimits;
  clock: Clock;
  build: Builders;
  ids: CallIds;
  signal: AbortSignal | undefined;
  /** Called at the first `next`. */
  prepare: () => PreparedRequest;
}

type Result = IteratorResult<OmniMessage, LLMOutcome>;

export class Generation implements AsyncGenerator<OmniMessage, LLMOutcome> {
  readonly #options: GenerationOptions;
  readonly #reply: Reply;
  readonly #deadlines: Deadlines;
  readonly #events: EventWatch | undefined;
  #queue: OmniMessage[] = [];
  #head = 0;
  #waiting: ((result: Result) => void)[] = [];
  #source: PartBatches | undefined;
  #prepared: PreparedRequest | undefined;
  #isStarted = false;
  #isReading = false;
  /** `doStream` has rejected. */
  #isRefused = false;
  /** Taking its `token_usage` commits. */
  #goodEnd: { usageMessage: OmniMessage; outcome: LLMOutcome } | undefined;
  #outcome: LLMOutcome | undefined;
  /** Ends the watch over the limits. */
  readonly #watch = new AbortController();
  /** The model's own signal. */
  readonly #request = new AbortController();

  constructor(options: GenerationOptions) {
    this.#options = options;
    this.#deadlines = new Deadlines(options.limits, options.clock);
    const { build, ids, profile } = options;
    this.#events = profile.watch?.();
    this.#reply = new Reply({
      build,
      ids,
      holdsCalls: profile.holdsCalls,
      ownName: (name) => this.#prepared?.ownName(name) ?? name,
      emit: (message) => this.#queue.push(message),
    });
  }

  next(): Promise<Result> {
    if (this.#head < this.#queue.length) return Promise.resolve({ done: false, value: this.#take() });
    if (this.#outcome !== undefined) return Promise.resolve({ done: true, value: this.#outcome });
    return new Promise((resolve) => {
      this.#waiting.push(resolve);
      this.#pull();
    });
  }

  /** The reader leaves: an interrupt without a last word. */
  async return(value: LLMOutcome | PromiseLike<LLMOutcome>): Promise<Result> {
    this.#abandon();
    return { done: true, value: await value };
  }

  async throw(error: unknown): Promise<Result> {
    this.#abandon();
    throw error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#abandon();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  /** Neither ended badly nor at its good end. */
  get #isRunning(): boolean {
    return this.#outcome === undefined && this.#goodEnd === undefined;
  }

  readonly #onSignal = (): void => this.#fail(new ProviderFault({ kind: "aborted" }));

  #pull(): void {
    if (!this.#isStarted) this.#start();
    if (this.#isRunning && !this.#isReading) void this.#read();
    else this.#deliver();
  }

  #start(): void {
    this.#isStarted = true;
    const { signal } = this.#options;
    if (signal?.aborted === true) return this.#onSignal();
    signal?.addEventListener("abort", this.#onSignal, { once: true });
    this.#deadlines.start();
    void this.#watchLimits();
  }

  /** Reads until there is something to deliver. */
  async #read(): Promise<void> {
    this.#isReading = true;
    this.#deadlines.resume();
    try {
      const source = this.#source ?? (await this.#connect());
      while (this.#isRunning && this.#queue.length === 0) {
        const batch = await source.next();
        if (!this.#isRunning) break;
        if (batch === undefined) this.#conclude();
        else this.#accept(batch);
      }
    } catch (error) {
      if (this.#isRunning) this.#fail(error);
    }
    this.#isReading = false;
    this.#deadlines.pause();
    this.#deliver();
  }

  async #connect(): Promise<PartBatches> {
    const { model, prepare, build } = this.#options;
    this.#prepared = prepare();
    for (const problem of this.#prepared.problems)
      this.#queue.push(build.notice("warning", "tool_declaration", problem));
    const asked = model.doStream({
      ...this.#prepared.options,
      abortSignal: this.#request.signal,
      ...(this.#events !== undefined && { includeRawChunks: true }),
    });
    const { stream } = await asked.then(undefined, (error: unknown) => {
      this.#isRefused = true;
      throw error;
    });
    const source = batchesOf(stream);
    if (this.#isRunning) this.#source = source;
    else source.cancel();
    return source;
  }

  #accept(batch: PartBatch): void {
    let hasContent = false;
    for (let index = 0; index < batch.length; index += 1) {
      const part = batch[index];
      if (part === undefined) continue;
      try {
        if (this.#acceptPart(part)) hasContent = true;
      } catch (error) {
        // What the request cost is told after the error.
        for (const later of batch.slice(index + 1)) if (later.type === "finish") this.#reply.usage = later.usage;
        return this.#fail(error);
      }
      if (part.type === "finish") return this.#conclude();
    }
    if (hasContent) this.#deadlines.feed();
  }

  #acceptPart(part: LanguageModelV3StreamPart): boolean {
    const events = this.#events;
    if (events === undefined) return this.#reply.accept(part);
    if (part.type === "raw") {
      events.accept(part.rawValue);
      return false;
    }
    if (part.type === "error" && events.isHarmless?.(part.error) === true) return false;
    const isContent = this.#reply.accept(part);
    const missing = events.missingAfter?.(part);
    return (missing !== undefined && this.#reply.accept(missing)) || isContent;
  }

  /** The stream has ended without an error. */
  #conclude(): void {
    const finish = this.#reply.finishReason;
    if (finish === undefined) return this.#fail(truncated("the stream closed without a finish reason"));
    const { raw } = finish;
    if (finish.unified === "other" && raw === undefined) return this.#fail(truncated("no finish reason was given"));
    const unified = this.#meaningOf(finish);
    if (unified === "error") {
      const words = this.#events?.finishWords;
      const reason = `the answer ended with finish reason "${raw ?? "error"}"`;
      const error = { message: words === undefined ? reason : `${reason}: ${words}` };
      return this.#fail(new ProviderFault({ kind: "error_object", error }));
    }
    const { cutCall } = this.#reply.end(unified);
    const finishReason = unified.replace("-", "_");
    if (finishReason === "content_filter") return this.#completeFiltered(raw);
    if (cutCall !== undefined) return this.#fail(new ProviderFault({ kind: "cut_call", name: cutCall }));
    if (this.#reply.messages.every(({ payload }) => payload.type === "thinking")) {
      return this.#fail(new ProviderFault({ kind: "empty_reply", finishReason, finishReasonRaw: raw }));
    }
    this.#complete(finishReason, raw);
  }

  #meaningOf({ unified, raw }: LanguageModelV3FinishReason): LanguageModelV3FinishReason["unified"] {
    if (unified !== "other" || raw === undefined) return unified;
    return this.#options.profile.unnamedEnd?.(raw) ?? (raw === "error" ? "error" : "other");
  }

  #completeFiltered(raw: string | undefined): void {
    this.#reply.close("malformed");
    const word = raw === undefined ? "" : ` (${raw})`;
    const text = `The provider's content filter stopped the answer${word}.`;
    this.#queue.push(this.#options.build.notice("warning", "content_filter", text));
    this.#complete("content_filter", raw);
  }

  #complete(finishReason: string, raw: string | undefined): void {
    const request = toTokenCounts(this.#reply.usage) ?? emptyTokenCounts();
    const usageMessage = this.#options.build.tokenUsage({ session: { ...request }, request });
    const outcome: LLMOutcome = { status: "completed", finishReason };
    if (raw !== undefined) outcome.finishReasonRaw = raw;
    this.#goodEnd = { usageMessage, outcome };
    this.#queue.push(usageMessage);
    this.#watch.abort("the request is over");
    this.#source?.cancel();
  }

  /** Every bad end. After the good end only the signal can still come, until the reader has taken the `token_usage`. */
  #fail(error: unknown): void {
    if (this.#outcome !== undefined) return;
    if (this.#goodEnd !== undefined) this.#queue.pop();
    const told = classify(error, this.#options.clock.now());
    if (told.status === "completed") {
      this.#completeFiltered(told.finishReasonRaw);
      return this.#deliver();
    }
    this.#reply.close(told.status);
    this.#settle(outcomeOf(told, toTokenCounts(this.#reply.usage) ?? toTokenCounts(this.#events?.usage)));
    this.#prepared?.refused?.(told);
    // What is over must not be stopped: Node's fetch fails without a listener then.
    if (!this.#isRefused) this.#request.abort(this.#options.signal?.reason);
    this.#source?.cancel();
    this.#deliver();
  }

  #settle(outcome: LLMOutcome): void {
    this.#outcome = outcome;
    this.#watch.abort("the request is over");
    this.#options.signal?.removeEventListener("abort", this.#onSignal);
  }

  #abandon(): void {
    this.#isStarted = true;
    this.#fail(new ProviderFault({ kind: "aborted" }));
    this.#queue = [];
    this.#head = 0;
    this.#deliver();
  }

  #take(): OmniMessage {
    const message = this.#queue[this.#head] as OmniMessage;
    this.#head += 1;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
    }
    if (message === this.#goodEnd?.usageMessage) {
      this.#prepared?.commit(this.#reply.messages, toTokenCounts(this.#reply.usage));
      this.#settle(this.#goodEnd.outcome);
    }
    return message;
  }

  #deliver(): void {
    while (this.#waiting.length > 0) {
      if (this.#head < this.#queue.length) this.#waiting.shift()?.({ done: false, value: this.#take() });
      else if (this.#outcome !== undefined) this.#waiting.shift()?.({ done: true, value: this.#outcome });
      else {
        if (this.#isRunning && !this.#isReading) void this.#read();
        return;
      }
    }
  }

  /** One sleeper for the whole request: it wakes at the nearest limit, and sleeps on if content has come since. */
  async #watchLimits(): Promise<void> {
    const { clock } = this.#options;
    let standstills = 0;
    while (this.#isRunning) {
      const beforeMs = clock.now();
      const { waitMs, fault } = this.#deadlines.nearest();
      if (waitMs <= 0) return this.#fail(fault);
      await clock.sleep(this.#deadlines.safeSleepMs(waitMs), this.#watch.signal);
      // A clock that stands still cannot watch anything, and asking it for ever would starve everything else.
      standstills = clock.now() === beforeMs ? standstills + 1 : 0;
      if (standstills > 100) return;
    }
  }
}

function truncated(detail: string): ProviderFault {
  return new ProviderFault({ kind: "truncated", detail });
}

function outcomeOf(told: Classification, usage: TokenCounts | undefined): LLMOutcome {
  return usage === undefined ? { ...told } : { ...told, usage };
}
