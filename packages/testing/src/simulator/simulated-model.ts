/** One model context that keeps the contract of `LLMInterface`, as far as a drawn reply lets it. */
import {
  type Builders,
  type GenerateParameters,
  isCompleted,
  isPartial,
  type LLMInterface,
  type LLMOutcome,
  type OmniMessage,
  type TokenCounts,
} from "@coxswain/core";
import type { Gates } from "./gates.ts";
import type { Observer } from "./observation.ts";
import type { Random } from "./random.ts";
import { type Reply, type Saying, tokens } from "./reply.ts";
import { pieces } from "./texts.ts";

export interface ModelWorld {
  random: Random;
  build: Builders;
  gates: Gates;
  log: Observer;
  /** Also counts requests. */
  drawReply: (purpose: "turn" | "summary") => Reply;
}

type Stream = AsyncGenerator<OmniMessage, LLMOutcome>;

export class SimulatedModel implements LLMInterface {
  /** Its place among the contexts of the life. */
  readonly number: number;
  readonly history: OmniMessage[];
  /** Another context has taken its place. */
  isStale = false;
  /** Streams that have begun and not ended. */
  readonly openStreams = new Set<object>();
  readonly #world: ModelWorld;
  readonly #usedIds = new Set<string>();
  /** Tokens that any context holds from the start. */
  readonly #baseTokens: number;

  constructor(world: ModelWorld, options: { number: number; history: readonly OmniMessage[]; baseTokens: number }) {
    this.#world = world;
    this.number = options.number;
    this.history = [...options.history];
    this.#baseTokens = options.baseTokens;
    for (const { payload } of this.history) {
      if (payload.type === "tool_call") this.#usedIds.add(payload.tool_call_id);
    }
  }

  async *streamGenerate(parameters: GenerateParameters): Stream {
    const { log, drawReply } = this.#world;
    const purpose = parameters.purpose ?? "turn";
    const input = [...parameters.newMessages];
    log.add({
      at: "request",
      context: this.number,
      isStale: this.isStale,
      purpose,
      history: [...this.history],
      input,
    });
    this.openStreams.add(parameters);
    try {
      const outcome = yield* this.#answer(drawReply(purpose), input, purpose, parameters.signal);
      log.add({ at: "answered", outcome });
      return outcome;
    } catch (error) {
      log.add({ at: "answered", outcome: "threw" });
      throw error;
    } finally {
      this.openStreams.delete(parameters);
    }
  }

  async *#answer(
    reply: Reply,
    input: readonly OmniMessage[],
    purpose: "turn" | "summary",
    signal: AbortSignal | undefined,
  ): Stream {
    const { gates, build, log } = this.#world;
    const said: OmniMessage[] = [];
    await gates.pass("model", "model begins");
    for (const saying of reply.sayings) {
      for (const message of this.#messages(saying, reply)) {
        if (reply.isPaced) await gates.pass("model", `model says ${message.payload.type ?? ""}`);
        if (signal?.aborted === true && reply.onSignal === "stops") return { status: "aborted" };
        if (!isPartial(message)) {
          if (isKept(message)) said.push(message);
          log.add({ at: "said", message });
        }
        yield message;
      }
    }
    if (reply.end.kind === "hangs") return gates.never("the model never ends");
    await gates.pass("model", "model ends");
    if (signal?.aborted === true) return { status: "aborted" };
    if (reply.end.kind === "throws") throw new Error("a bug in the adapter");
    const { outcome } = reply.end;
    if (outcome.status !== "completed") return outcome;
    const request = this.#count(input, said, reply.outputTokens);
    if (purpose === "turn") this.history.push(...input, ...said);
    const usage = build.tokenUsage({ session: request, request });
    log.add({ at: "said", message: usage });
    yield usage;
    if (reply.isPaced) await gates.pass("model", "model returns");
    return outcome;
  }

  *#messages(saying: Saying, reply: Reply): Generator<OmniMessage> {
    const { build, random } = this.#world;
    const ended = reply.end.kind === "outcome" ? reply.end.outcome.status : "failed";
    // Something in a reply that ended well can be cut all the same.
    const status = ended === "completed" ? "malformed" : ended;
    const stopReason = saying.isCut ? status : undefined;
    const isLeftOpen = saying.isCut && !reply.closesWhatIsCut;
    switch (saying.kind) {
      case "thinking":
        yield build.partialThinking("start");
        for (const piece of pieces(random, saying.text)) yield build.partialThinking("delta", piece);
        if (isLeftOpen) return;
        yield build.partialThinking("stop", "", stopReason);
        return yield build.thinking(saying.text, { stopReason, fidelity: { signature: `s${saying.text.length}` } });
      case "text":
        yield build.partialText("start");
        for (const piece of saying.isLetterByLetter === true ? saying.text : pieces(random, saying.text)) {
          yield build.partialText("delta", piece);
        }
        if (isLeftOpen) return;
        yield build.partialText("stop", "", stopReason);
        return yield build.assistantText(saying.text, { stopReason });
      case "call": {
        const { name, arguments: json } = saying.call;
        const call = { name, toolCallId: this.#newId(saying.call.id) };
        yield build.partialToolCall({ ...call, eventType: "start" });
        for (const piece of pieces(random, json)) {
          yield build.partialToolCall({ ...call, eventType: "delta", arguments: piece });
        }
        if (isLeftOpen) return;
        yield build.partialToolCall({ ...call, eventType: "stop", stopReason });
        return yield build.toolCall({ ...call, arguments: json, stopReason });
      }
      default:
        saying satisfies never;
    }
  }

  #newId(base: string): string {
    let id = base;
    for (let number = 2; this.#usedIds.has(id); number += 1) id = `${base}~${number}`;
    this.#usedIds.add(id);
    return id;
  }

  #count(input: readonly OmniMessage[], said: readonly OmniMessage[], output: number): TokenCounts {
    return tokens(this.#baseTokens + 6 * (this.history.length + input.length + said.length), output);
  }
}

/** A call that was cut never enters history. */
function isKept({ payload }: OmniMessage): boolean {
  return payload.type !== "tool_call" || isCompleted(payload);
}
