/** Plays bodies to a model without a network: one model for all of a protocol, one context for all that is not committed. */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { LLMOutcome, OmniMessage } from "@coxswain/core";
import { ManualClock } from "@coxswain/testing";
import { GenerativeModel } from "../../../../src/llm/context/generative-model.ts";
import { ownNamespace } from "../../../../src/llm/own-namespace.ts";
import { createLanguageModel } from "../../../../src/llm/create-language-model.ts";
import { complete, generate, generousLimits, undisciplined } from "../../support/generate.ts";
import { settingsFor, type WireProtocol } from "../../support/streams.ts";

export interface Played {
  messages: OmniMessage[];
  outcome: LLMOutcome;
}

/** Of the event loop: no answer in memory needs more. */
const maxTurns = 200;
const nowhere = "http://127.0.0.1:9";

export class Player {
  readonly protocol: WireProtocol;
  readonly #model: LanguageModelV3;
  readonly #body: PlayedBody;
  #context: GenerativeModel | undefined;
  /** What a context asks whose history is empty. */
  #firstRequest: string | undefined;

  private constructor(protocol: WireProtocol, model: LanguageModelV3, body: PlayedBody) {
    this.protocol = protocol;
    this.#model = model;
    this.#body = body;
  }

  static async create(protocol: WireProtocol): Promise<Player> {
    const body = new PlayedBody();
    const model = await createLanguageModel(settingsFor(protocol, nowhere), { fetch: body.fetch });
    return new Player(protocol, model, body);
  }

  /**
   * One request whose answer comes in these pieces; then the body ends, or breaks with the error.
   *
   * @throws when it does not end, or asks with something that an answer which did not count has left behind
   */
  async play(pieces: readonly Uint8Array[], error?: Error): Promise<Played> {
    this.#body.pieces = pieces;
    this.#body.error = error;
    this.#context ??= this.#newContext();
    let played: Played | undefined;
    const playing = generate(this.#context).then((all) => {
      played = all;
    });
    for (let turn = 0; played === undefined && turn < maxTurns; turn += 1) await nextTurn();
    if (played === undefined) throw new Error(`the answer has not ended after ${maxTurns} turns of the event loop`);
    await playing;
    this.#checkRequest();
    if (played.outcome.status === "completed") this.#context = undefined;
    return played;
  }

  #newContext(): GenerativeModel {
    const clock = new ManualClock();
    return new GenerativeModel({ model: this.#model, systemPrompt: "Be brief.", limits: generousLimits, clock });
  }

  #checkRequest(): void {
    this.#firstRequest ??= this.#body.request;
    if (this.#body.request === this.#firstRequest) return;
    throw new Error(`something was committed: ${this.#body.request} instead of ${this.#firstRequest}`);
  }
}

class PlayedBody {
  pieces: readonly Uint8Array[] = [];
  error: Error | undefined;
  request = "";

  readonly fetch: typeof globalThis.fetch = (_url, init) => {
    this.request = typeof init?.body === "string" ? init.body : "";
    const { pieces, error } = this;
    let next = 0;
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        const piece = pieces[next];
        next += 1;
        if (piece !== undefined) controller.enqueue(piece);
        else if (error === undefined) controller.close();
        else controller.error(error);
      },
    });
    return Promise.resolve(new Response(body, { headers: { "content-type": "text/event-stream" } }));
  };
}

/** What an answer amounts to, whatever the context in which it came: ids that we made or numbered are counted. */
export function essence(messages: readonly OmniMessage[]): string {
  const ids = new Map<string, number>();
  return JSON.stringify(complete(messages), (key, value: unknown) => {
    if (key === ownNamespace) return undefined;
    if (key === "fidelity" && Object.keys(value as object).every((name) => name === ownNamespace)) return undefined;
    if (key !== "tool_call_id" || typeof value !== "string") return value;
    if (!ids.has(value)) ids.set(value, ids.size);
    return ids.get(value);
  });
}

/** What must hold of every answer, good or bad. */
export function problemsOf({ messages, outcome }: Played): string[] {
  const problems = undisciplined(messages);
  const isCounted = messages.some(({ payload }) => payload.type === "token_usage");
  if (isCounted !== (outcome.status === "completed")) problems.push(`${outcome.status}, but counted: ${isCounted}`);
  if (outcome.status !== "completed" && !outcome.errorMessage) problems.push("nothing says what was wrong");
  return problems;
}

/** Pieces of a body that begin at these offsets. */
export function piecesAt(body: Uint8Array, offsets: readonly number[]): Uint8Array[] {
  const sorted = [...new Set([0, ...offsets, body.length])].filter((at) => at <= body.length).sort((a, b) => a - b);
  return sorted.slice(1).map((end, index) => body.subarray(sorted[index], end));
}
