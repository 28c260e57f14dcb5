/** One model context over any `LanguageModelV3`: its history, and requests that are committed or leave no trace. */
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3Message } from "@ai-sdk/provider";
import {
  type Builders,
  createBuilders,
  isPayload,
  type OmniMessage,
  type TokenCounts,
  type ToolDefinition,
} from "@coxswain/protocol";
import type { Clock, GenerateParameters, LLMInterface, LLMOutcome } from "../../engine/ports.ts";
import { CallIds } from "../call-ids.ts";
import { Generation, type PreparedRequest } from "./generation.ts";
import type { ModelTimeLimits } from "../model-settings.ts";
import { estimateTokens, estimateToolTokens, outputRoom } from "./output-room.ts";
import { withoutImages } from "./media.ts";
import { PromptConverter } from "./prompt-converter.ts";
import { profileOf, type ProviderProfile } from "../provider/profile.ts";
import { declareTools, type ToolDeclarations } from "../declaration/tool-declarations.ts";

export interface GenerativeModelOptions {
  model: LanguageModelV3;
  /** Empty: none is sent. */
  systemPrompt: string;
  /** Committed messages of this context. */
  history?: readonly OmniMessage[] | undefined;
  limits: ModelTimeLimits;
  clock: Clock;
  /** Tokens of one answer. Absent: the provider's own limit. */
  maxOutputTokens?: number | undefined;
  /** Tokens; 0 or absent when unknown. */
  contextWindow?: number | undefined;
  /** Whether it sees images. Default: true. */
  vision?: boolean | undefined;
  /** What the requests of one Session have in common, for providers whose cache is found by it. */
  cacheKey?: string | undefined;
}

export class GenerativeModel implements LLMInterface {
  readonly #options: GenerativeModelOptions;
  readonly #profile: ProviderProfile;
  readonly #build: Builders;
  readonly #ids = new CallIds();
  readonly #converter: PromptConverter;
  /** System prompt and history, ready to be sent. */
  readonly #prompt: LanguageModelV3Message[] = [];
  /** Tokens in the context after the last committed request: told by the provider, or else an estimate. */
  #contextTokens = 0;
  #hasCounted = false;
  #tools: { source: readonly ToolDefinition[]; declarations: ToolDeclarations; tokens: number } | undefined;
  /** The provider has refused a request because of an image: it would refuse every later one, too. */
  #leavesImagesOut = false;
  /** What was wrong with tools and has been told. */
  readonly #toldProblems = new Set<string>();

  constructor(options: GenerativeModelOptions) {
    this.#options = options;
    this.#profile = profileOf(options.model.provider);
    this.#converter = new PromptConverter({ ...this.#profile.media, vision: options.vision ?? true });
    this.#build = createBuilders(() => options.clock.now());
    const systemPrompt = options.systemPrompt.toWellFormed();
    if (systemPrompt.trim() !== "") this.#prompt.push({ role: "system", content: systemPrompt });
    const history = options.history ?? [];
    for (const message of history) {
      if (isPayload(message, "tool_call")) this.#ids.register(message.payload.tool_call_id);
    }
    for (const message of this.#converter.convert(history)) this.#prompt.push(message);
    if (this.#knowsWindow) this.#contextTokens = estimateTokens(this.#prompt);
  }

  streamGenerate(parameters: GenerateParameters): AsyncGenerator<OmniMessage, LLMOutcome> {
    const { model, limits, clock } = this.#options;
    return new Generation({
      model,
      profile: this.#profile,
      limits,
      clock,
      build: this.#build,
      ids: this.#ids,
      signal: parameters.signal,
      prepare: () => this.#prepare(parameters),
    });
  }

  get #knowsWindow(): boolean {
    return (this.#options.contextWindow ?? 0) > 0;
  }

  #prepare(parameters: GenerateParameters): PreparedRequest {
    const isSummary = parameters.purpose === "summary";
    const added = this.#converter.convert(parameters.newMessages);
    const tools = this.#convertTools(parameters.tools);
    const addedTokens = this.#knowsWindow ? estimateTokens(added) : 0;
    const { model, cacheKey, contextWindow } = this.#options;
    const input = this.#contextTokens + addedTokens + (this.#hasCounted ? 0 : (tools?.tokens ?? 0));
    const room = outputRoom(contextWindow ?? 0, input);
    const maxOutputTokens = leastOf(this.#options.maxOutputTokens, room);
    const prompt = [...this.#prompt, ...added];
    const options: LanguageModelV3CallOptions = { prompt: this.#leavesImagesOut ? withoutImages(prompt) : prompt };
    const declared = tools?.declarations.declared ?? [];
    if (declared.length > 0) options.tools = declared;
    if (isSummary) options.toolChoice = { type: "none" };
    if (maxOutputTokens !== undefined) options.maxOutputTokens = maxOutputTokens;
    const { thinkingLevel } = parameters;
    return {
      options: this.#profile.shape(options, { modelId: model.modelId, thinkingLevel, room, cacheKey }),
      problems: this.#newProblems(tools?.declarations.problems ?? []),
      ownName: (name) => tools?.declarations.ownName(name) ?? name,
      refused: ({ status, errorMessage }) => {
        if (status === "failed" && /\bimages?\b|\bimage_url\b/i.test(errorMessage)) this.#leavesImagesOut = true;
      },
      commit: (reply, counts) => {
        if (!isSummary) this.#commit(added, reply, counts);
      },
    };
  }

  #newProblems(problems: readonly string[]): string[] {
    const untold = problems.filter((problem) => !this.#toldProblems.has(problem));
    for (const problem of untold) this.#toldProblems.add(problem);
    return untold;
  }

  #commit(added: LanguageModelV3Message[], reply: readonly OmniMessage[], counts: TokenCounts | undefined): void {
    const answer = this.#converter.convert(reply);
    for (const message of added) this.#prompt.push(message);
    for (const message of answer) this.#prompt.push(message);
    if (counts !== undefined && counts.total > 0) {
      this.#contextTokens = counts.total;
      this.#hasCounted = true;
    } else if (this.#knowsWindow) this.#contextTokens += estimateTokens(added) + estimateTokens(answer);
  }

  #convertTools(source: readonly ToolDefinition[] | undefined) {
    if (source === undefined || source.length === 0) return undefined;
    if (this.#tools?.source !== source) {
      const declarations = declareTools(source);
      this.#tools = { source, declarations, tokens: estimateToolTokens(declarations.declared) };
    }
    return this.#tools;
  }
}

/** What is configured, where the window has room for it. */
function leastOf(configured: number | undefined, room: number | undefined): number | undefined {
  return configured === undefined || room === undefined ? configured : Math.min(configured, room);
}
