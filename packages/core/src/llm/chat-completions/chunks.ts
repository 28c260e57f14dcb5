/** The chunks of one streamed chat completion as stream parts, and how the stream ended. */
import type { LanguageModelV3FinishReason, LanguageModelV3StreamPart, LanguageModelV3Usage } from "@ai-sdk/provider";
import { isRecord, isShallow, type JsonRecord, nonEmptyString } from "../../shared/json.ts";
import { type Fault, type HideKeys, ProviderFault } from "../fault/provider-fault.ts";
import { ReasoningDetails, type ReasoningPiece, readContentParts, readReasoning } from "./reasoning.ts";
import { ToolCallAssembler } from "./tool-calls.ts";
import { readUsage, unknownUsage } from "./usage.ts";

type Unified = LanguageModelV3FinishReason["unified"];

const finishWords: ReadonlyMap<string, Unified> = new Map(
  Object.entries<Unified>({
    stop: "stop",
    eos: "stop",
    end_turn: "stop",
    stop_sequence: "stop",
    length: "length",
    max_tokens: "length",
    model_length: "length",
    model_context_window_exceeded: "length",
    tool_calls: "tool-calls",
    function_call: "tool-calls",
    content_filter: "content-filter",
    refusal: "content-filter",
    sensitive: "content-filter",
  }),
);

/** Words for a fault, and the code by which it is classified. */
const faultWords: ReadonlyMap<string, string> = new Map([
  ["error", ""],
  ["network_error", "connection_error"],
  ["insufficient_system_resource", "insufficient_system_resource"],
]);

export interface ChunkReaderOptions {
  /** Of `providerMetadata`. */
  namespace: string;
  /** Takes the key out of what a server says. */
  hideKeys: HideKeys;
}

export class ChunkReader {
  /** The end has come, good or bad; whatever follows is ignored. */
  isDone = false;
  #parts: LanguageModelV3StreamPart[] = [];
  readonly #options: ChunkReaderOptions;
  readonly #calls: ToolCallAssembler;
  #finishWord: string | undefined;
  #hasRefusal = false;
  #usage: LanguageModelV3Usage = unknownUsage;
  #open: "text" | "reasoning" | undefined;
  #blockNumber = 0;
  #blockId = "";
  #reasoningField: ReasoningPiece["field"] = "reasoning_content";
  #details = new ReasoningDetails();
  #hasMetadata = false;

  constructor(options: ChunkReaderOptions) {
    this.#options = options;
    this.#calls = new ToolCallAssembler({
      started: (call) => {
        this.#endBlock();
        this.#parts.push({ type: "tool-input-start", id: call.id, toolName: call.name });
      },
      grew: (call, delta) => this.#parts.push({ type: "tool-input-delta", id: call.id, delta }),
    });
  }

  /** What has come since the last call. */
  takeParts(): LanguageModelV3StreamPart[] {
    const parts = this.#parts;
    this.#parts = [];
    return parts;
  }

  /** One parsed event that reports no error. */
  accept(chunk: unknown): void {
    if (!isRecord(chunk)) return this.fail({ kind: "unreadable", detail: `not a chunk: ${JSON.stringify(chunk)}` });
    if (!this.#hasMetadata) this.#describe(chunk);
    const { choices } = chunk;
    const choice: unknown = Array.isArray(choices) ? choices.find(isFirstChoice) : undefined;
    const usage = chunk["usage"];
    if (isRecord(usage)) this.#usage = readUsage(usage);
    if (isRecord(choice)) this.#acceptChoice(choice);
    if (isRecord(chunk["x_groq"]) && isRecord(chunk["x_groq"]["usage"]))
      this.#usage = readUsage(chunk["x_groq"]["usage"]);
  }

  /** @param detail What is wrong if no finish reason has come. */
  end(detail: string): void {
    if (this.isDone) return;
    const word = this.#finishWord;
    if (word === undefined) return this.fail({ kind: "truncated", detail });
    const unified = this.#hasRefusal ? "content-filter" : (finishWords.get(word.toLowerCase()) ?? "other");
    this.#endBlock();
    if (unified !== "length" && unified !== "content-filter") {
      const nameless = this.#calls.calls.some((call) => call.name === "");
      if (nameless) return this.fail({ kind: "unreadable", detail: "a tool call without a name" });
      for (const call of this.#calls.calls) {
        this.#parts.push(
          { type: "tool-input-end", id: call.id },
          { type: "tool-call", toolCallId: call.id, toolName: call.name, input: call.arguments },
        );
      }
    }
    this.#finish({ unified, raw: word });
  }

  fail(fault: Fault): void {
    if (this.isDone) return;
    this.#parts.push({ type: "error", error: new ProviderFault(fault, this.#options.hideKeys) });
    this.#finish({ unified: "error", raw: this.#finishWord });
  }

  #finish(finishReason: LanguageModelV3FinishReason): void {
    this.isDone = true;
    this.#parts.push({ type: "finish", finishReason, usage: this.#usage });
  }

  #describe(chunk: JsonRecord): void {
    this.#hasMetadata = true;
    const id = nonEmptyString(chunk["id"]);
    const modelId = nonEmptyString(chunk["model"]);
    this.#parts.push({ type: "response-metadata", ...(id && { id }), ...(modelId && { modelId }) });
  }

  #acceptChoice(choice: JsonRecord): void {
    const delta = choice["delta"] ?? choice["message"];
    if (isRecord(delta)) this.#acceptDelta(delta);
    if (isRecord(choice["usage"])) this.#usage = readUsage(choice["usage"]);
    const word = nonEmptyString(choice["finish_reason"]);
    // Some gateways write out what is not there yet.
    if (word === undefined || word === "null") return;
    this.#finishWord = word;
    const code = faultWords.get(word.toLowerCase());
    if (code === undefined) return;
    this.fail({ kind: "error_object", error: { code, message: `the answer ended with finish reason "${word}"` } });
  }

  #acceptDelta(delta: JsonRecord): void {
    const reasoning = readReasoning(delta);
    if (reasoning !== undefined) {
      this.#reasoning(reasoning);
      if (delta["reasoning_details"] !== undefined) this.#details.accept(delta["reasoning_details"]);
    }
    const content = delta["content"];
    if (typeof content === "string") {
      if (content !== "") this.#text(content);
    } else if (Array.isArray(content)) {
      const { text, thinking } = readContentParts(content);
      if (thinking !== "") this.#reasoning({ text: thinking, field: "content" });
      if (text !== "") this.#text(text);
    }
    if (typeof delta["refusal"] === "string" && delta["refusal"] !== "") {
      this.#hasRefusal = true;
      this.#text(delta["refusal"]);
    }
    if (Array.isArray(delta["tool_calls"])) this.#calls.accept(delta["tool_calls"]);
  }

  #text(delta: string): void {
    if (this.#open !== "text") {
      this.#startBlock("text");
      this.#parts.push({ type: "text-start", id: this.#blockId });
    }
    this.#parts.push({ type: "text-delta", id: this.#blockId, delta });
  }

  #reasoning(piece: ReasoningPiece): void {
    if (this.#open !== "reasoning") {
      this.#startBlock("reasoning");
      this.#details = new ReasoningDetails();
      this.#reasoningField = piece.field;
      this.#parts.push({ type: "reasoning-start", id: this.#blockId });
    }
    if (piece.text !== "") this.#parts.push({ type: "reasoning-delta", id: this.#blockId, delta: piece.text });
  }

  #startBlock(kind: "text" | "reasoning"): void {
    this.#endBlock();
    this.#open = kind;
    this.#blockNumber += 1;
    this.#blockId = String(this.#blockNumber);
  }

  #endBlock(): void {
    if (this.#open === "text") this.#parts.push({ type: "text-end", id: this.#blockId });
    if (this.#open === "reasoning") {
      const details = this.#details.all;
      const metadata = {
        reasoning_field: this.#reasoningField,
        ...(details.length > 0 && isShallow(details) && { reasoning_details: structuredClone(details) as never }),
      };
      this.#parts.push({
        type: "reasoning-end",
        id: this.#blockId,
        providerMetadata: { [this.#options.namespace]: metadata },
      });
    }
    this.#open = undefined;
  }
}

/** Servers that are asked for one answer may send several all the same. */
function isFirstChoice(choice: unknown): boolean {
  return isRecord(choice) && (choice["index"] ?? 0) === 0;
}
