/** A model that answers at once, written as adapters are written: without a generator between it and the engine. */
import {
  emptyTokenCounts,
  type LLMInterface,
  type LLMOutcome,
  type OmniMessage,
  type ToolCallPayload,
} from "@coxswain/core";
import { build } from "./setting.ts";

type Step = IteratorResult<OmniMessage, LLMOutcome>;

/** What one request answers, built message by message as it is asked for. */
export interface PlayedReply {
  /** How many deltas of which text. */
  deltas?: { count: number; text: string };
  calls?: { name: string; arguments: string; toolCallId: string }[];
}

export function playedModel(reply: (request: number) => PlayedReply): LLMInterface {
  let requests = 0;
  return {
    streamGenerate() {
      requests += 1;
      return new PlayedStream(reply(requests - 1));
    },
  };
}

class PlayedStream implements AsyncGenerator<OmniMessage, LLMOutcome> {
  readonly #reply: PlayedReply;
  readonly #deltas: number;
  readonly #text: string;
  #delta = -1;
  #call = 0;
  #isCounted = false;

  constructor(reply: PlayedReply) {
    this.#reply = reply;
    this.#deltas = reply.deltas?.count ?? 0;
    this.#text = reply.deltas?.text ?? "";
  }

  next(): Promise<Step> {
    return Promise.resolve(this.#step());
  }

  return(): Promise<Step> {
    return Promise.resolve({ done: true, value: { status: "aborted" } });
  }

  throw(error: unknown): Promise<Step> {
    return Promise.reject(error instanceof Error ? error : new Error(String(error)));
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  #step(): Step {
    if (this.#deltas > 0 && this.#delta <= this.#deltas + 1) {
      const index = this.#delta;
      this.#delta += 1;
      if (index === -1) return shown(build.partialText("start"));
      if (index < this.#deltas) return shown(build.partialText("delta", this.#text));
      if (index === this.#deltas) return shown(build.partialText("stop"));
      return shown(build.assistantText(this.#text.repeat(this.#deltas)));
    }
    const call = this.#reply.calls?.[this.#call];
    this.#call += 1;
    if (call !== undefined) return shown(toolCall(call));
    if (this.#isCounted) return { done: true, value: { status: "completed" } };
    this.#isCounted = true;
    const request = { ...emptyTokenCounts(), input: 10, output: 5, total: 15 };
    return shown(build.tokenUsage({ session: request, request }));
  }
}

function shown(value: OmniMessage): Step {
  return { done: false, value };
}

function toolCall(call: { name: string; arguments: string; toolCallId: string }): OmniMessage<ToolCallPayload> {
  return build.toolCall(call);
}
