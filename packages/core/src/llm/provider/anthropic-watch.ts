/** The events of one Anthropic answer: usage as it grows, kinds that are not known yet, words that come with a block's start. */
import type { LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import { countOf, isRecord, type JsonRecord, nonEmptyString } from "../../shared/json.ts";
import type { EventWatch } from "./profile.ts";

const knownEvents = new Set([
  "message_start",
  "message_delta",
  "message_stop",
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "ping",
  "error",
]);
const knownBlocks = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);
const knownDeltas = new Set(["text_delta", "thinking_delta", "signature_delta", "input_json_delta"]);

export class AnthropicWatch implements EventWatch {
  usage: LanguageModelV3Usage | undefined;
  #input = 0;
  #cacheRead = 0;
  #cacheWrite = 0;
  #isUnknown = false;
  #started: JsonRecord | undefined;

  accept(event: unknown): void {
    this.#started = undefined;
    this.#isUnknown = false;
    if (!isRecord(event)) return;
    const { type } = event;
    if (type === "content_block_start" && isRecord(event["content_block"])) {
      const block = event["content_block"];
      this.#started = { ...block, id: String(event["index"]) };
      this.#isUnknown = isUnknownKind(block["type"], knownBlocks);
    } else if (type === "content_block_delta" && isRecord(event["delta"])) {
      this.#isUnknown = isUnknownKind(event["delta"]["type"], knownDeltas);
    } else if (type === "message_start" && isRecord(event["message"])) this.#count(event["message"]["usage"]);
    else if (type === "message_delta") this.#count(event["usage"]);
    else this.#isUnknown = isUnknownKind(type, knownEvents);
  }

  isHarmless(error: unknown): boolean {
    return this.#isUnknown && isRecord(error) && error["name"] === "AI_TypeValidationError";
  }

  missingAfter(part: LanguageModelV3StreamPart): LanguageModelV3StreamPart | undefined {
    const block = this.#started;
    if (block === undefined || !("id" in part) || part.id !== block["id"]) return undefined;
    if (part.type === "text-start") {
      const delta = nonEmptyString(block["text"]);
      return delta === undefined ? undefined : { type: "text-delta", id: part.id, delta };
    }
    if (part.type !== "reasoning-start" || block["type"] !== "thinking") return undefined;
    const delta = nonEmptyString(block["thinking"]) ?? "";
    const signature = nonEmptyString(block["signature"]);
    if (delta === "" && signature === undefined) return undefined;
    const providerMetadata = signature === undefined ? undefined : { anthropic: { signature } };
    return { type: "reasoning-delta", id: part.id, delta, ...(providerMetadata && { providerMetadata }) };
  }

  #count(told: unknown): void {
    if (!isRecord(told)) return;
    this.#input = countOf(told["input_tokens"]) ?? this.#input;
    this.#cacheRead = countOf(told["cache_read_input_tokens"]) ?? this.#cacheRead;
    this.#cacheWrite = countOf(told["cache_creation_input_tokens"]) ?? this.#cacheWrite;
    const output = countOf(told["output_tokens"]);
    this.usage = {
      inputTokens: {
        total: this.#input + this.#cacheRead + this.#cacheWrite,
        noCache: this.#input,
        cacheRead: this.#cacheRead,
        cacheWrite: this.#cacheWrite,
      },
      outputTokens: { total: output, text: undefined, reasoning: undefined },
    };
  }
}

function isUnknownKind(type: unknown, known: ReadonlySet<string>): boolean {
  return typeof type === "string" && !known.has(type);
}
