/** One model context over any `LanguageModelV3`: its history, and requests that are committed or leave no trace. */
import type {
  LanguageModelV3,
  LanguageModelV3CallOptions,
  LanguageModelV3FunctionTool,
  LanguageModelV3Message,
} from "@ai-sdk/provider";
import {
  type Builders,
  createBuilders,
  isPayload,
  type OmniMessage,
  type TokenCounts,
  type ToolDefinition,
} from "@coxswain/protocol";
import type { Clock, GenerateParameters, LLMInterface, LLMOutcome } from "../../engine/ports.ts";
import { CallIds } from "./call-ids.ts";
import { Generation, type PreparedRequest } from "./generation.ts";
import type { ModelTimeLimits } from "../model-settings.ts";
import { estimateTokens, estimateToolTokens, outputRoom } from "./output-room.ts";
import { PromptConverter } from "./prompt-converter.ts";
import { thinkingOptions } from "../thinking-level.ts";
import { deepWellFormed } from "./well-formed.ts";

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
}

export class GenerativeModel implements LLMInterface {
  readonly #options: GenerativeModelOptions;
  readonly #build: Builders;
  readonly #ids = new CallIds();
  readonly #converter = new PromptConverter();
  /** System prompt and history, ready to be sent. */
  readonly #prompt: LanguageModelV3Message[] = [];
  /** Tokens in the context after the last committed request: told by the provider, or else an estimate. */
  #contextTokens = 0;
  #hasCounted = false;
  #tools: { source: readonly ToolDefinition[]; converted: LanguageModelV3FunctionTool[]; tokens: number } | undefined;

  constructor(options: GenerativeModelOptions) {
    this.#options = options;
    this.#build = createBuilders(() => options.clock.now());
    const systemPrompt = options.systemPrompt.toWellFormed();
    if (systemPrompt !== "") this.#prompt.push({ role: "system", content: systemPrompt });
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
    const maxOutputTokens = outputRoom(
      this.#options.maxOutputTokens,
      this.#options.contextWindow ?? 0,
      this.#contextTokens + addedTokens + (this.#hasCounted ? 0 : (tools?.tokens ?? 0)),
    );
    const options: LanguageModelV3CallOptions = {
      prompt: [...this.#prompt, ...added],
      providerOptions: thinkingOptions(this.#options.model.provider, parameters.thinkingLevel),
    };
    if (tools !== undefined) options.tools = tools.converted;
    if (isSummary) options.toolChoice = { type: "none" };
    if (maxOutputTokens !== undefined) options.maxOutputTokens = maxOutputTokens;
    return {
      options,
      commit: (reply, counts) => {
        if (!isSummary) this.#commit(added, reply, counts);
      },
    };
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
      const converted = source.map(convertTool);
      this.#tools = { source, converted, tokens: estimateToolTokens(converted) };
    }
    return this.#tools;
  }
}

function convertTool(tool: ToolDefinition): LanguageModelV3FunctionTool {
  const inputSchema = tool.parameters ?? { type: "object", properties: {} };
  const { name, description } = tool;
  return deepWellFormed({ type: "function", name, description, inputSchema }) as LanguageModelV3FunctionTool;
}
