/** OmniMessages as the prompt of a `LanguageModelV3`. Each message is converted once. */
import type {
  LanguageModelV3Message,
  LanguageModelV3TextPart,
  LanguageModelV3ToolResultOutput,
  SharedV3ProviderOptions,
} from "@ai-sdk/provider";
import {
  type CompleteModelPayload,
  type Fidelity,
  isCompleted,
  isCompleteModelMessage,
  type OmniMessage,
  type ToolCallOutputPayload,
  type ToolCallPayload,
} from "@coxswain/protocol";
import { isRecord, isShallow, parseJson } from "../../shared/json.ts";
import { ownNamespace } from "../own-namespace.ts";
import type { MediaSupport } from "../provider/profile.ts";
import { dataPart, imagePart, type MediaPart } from "./media.ts";
import { declaredName } from "../declaration/declared-name.ts";
import { deepWellFormed } from "./well-formed.ts";

type AssistantContent = Extract<LanguageModelV3Message, { role: "assistant" }>["content"];
type AssistantPart = AssistantContent[number];

interface KnownCall {
  name: string;
  /** The id that the provider gave and gets back. */
  providerId: string;
}

export class PromptConverter {
  readonly #media: MediaSupport;
  readonly #calls = new Map<string, KnownCall>();

  constructor(media: MediaSupport) {
    this.#media = media;
  }

  /** Messages of one side that follow each other share a prompt message where the provider expects it. */
  convert(messages: readonly OmniMessage[]): LanguageModelV3Message[] {
    const prompt: LanguageModelV3Message[] = [];
    for (const message of messages) {
      if (isCompleteModelMessage(message)) this.#append(prompt, message.payload);
    }
    return prompt.filter(endsInMoreThanThinking);
  }

  #append(prompt: LanguageModelV3Message[], payload: CompleteModelPayload): void {
    switch (payload.type) {
      case "text":
        if (payload.role === "user") return appendUserText(prompt, payload.text);
        // Blank texts are refused, although models write them.
        if (payload.text.trim() === "" && payload.fidelity === undefined) return;
        return appendAssistant(prompt, {
          type: "text",
          text: payload.text.toWellFormed(),
          ...optionsOf(payload.fidelity),
        });
      case "thinking":
        return appendAssistant(prompt, {
          type: "reasoning",
          text: payload.thinking.toWellFormed(),
          ...optionsOf(payload.fidelity),
        });
      case "inline_thinking":
        return appendAssistant(prompt, { type: "reasoning", text: "", ...optionsOf(payload.fidelity) });
      case "tool_call":
        return this.#appendCall(prompt, payload);
      case "tool_call_output":
        return this.#appendOutput(prompt, payload);
      case "image_url":
        return appendUserPart(prompt, imagePart(payload.image_url, this.#media));
      case "inline_data": {
        const { mime_type: mediaType, data } = payload;
        if (payload.role === "user") return appendUserPart(prompt, dataPart(data, mediaType, this.#media));
        return appendAssistant(prompt, { type: "file", mediaType, data, ...optionsOf(payload.fidelity) });
      }
      default:
        return;
    }
  }

  #appendCall(prompt: LanguageModelV3Message[], payload: ToolCallPayload): void {
    if (!isCompleted(payload)) return;
    const providerId = (ownIdOf(payload.fidelity) ?? payload.tool_call_id).toWellFormed();
    const name = declaredName(payload.name);
    this.#calls.set(payload.tool_call_id, { name, providerId });
    const { input, text } = readArguments(payload.arguments);
    const { providerOptions } = optionsOf(payload.fidelity);
    appendAssistant(prompt, {
      type: "tool-call",
      toolCallId: providerId,
      toolName: name,
      input,
      providerOptions: { ...providerOptions, [ownNamespace]: { arguments: text } },
    });
  }

  #appendOutput(prompt: LanguageModelV3Message[], payload: ToolCallOutputPayload): void {
    const call = this.#calls.get(payload.tool_call_id);
    const part = {
      type: "tool-result" as const,
      toolCallId: call?.providerId ?? payload.tool_call_id.toWellFormed(),
      toolName: call?.name ?? "unknown",
      output: outputOf(payload, this.#media),
    };
    const last = prompt.at(-1);
    if (last?.role === "tool") last.content.push(part);
    else prompt.push({ role: "tool", content: [part] });
  }
}

/** Thinking that nothing follows is refused, and with it every later request. An answer of nothing else is left out. */
function endsInMoreThanThinking(message: LanguageModelV3Message): boolean {
  if (message.role !== "assistant") return true;
  while (message.content.at(-1)?.type === "reasoning") message.content.pop();
  return message.content.length > 0;
}

function appendAssistant(prompt: LanguageModelV3Message[], part: AssistantPart): void {
  const last = prompt.at(-1);
  if (last?.role === "assistant") last.content.push(part);
  else prompt.push({ role: "assistant", content: [part] });
}

/** Stands for a text that providers refuse. */
const blank = "[a blank message]";

/** Each text is a message of its own; one that follows images goes with them. */
function appendUserText(prompt: LanguageModelV3Message[], text: string): void {
  const part: LanguageModelV3TextPart = { type: "text", text: text.trim() === "" ? blank : text.toWellFormed() };
  const last = prompt.at(-1);
  const follows = last?.role === "user" && last.content.every((other) => other.type === "file");
  if (last?.role === "user" && follows) last.content.push(part);
  else prompt.push({ role: "user", content: [part] });
}

function appendUserPart(prompt: LanguageModelV3Message[], part: MediaPart): void {
  const last = prompt.at(-1);
  if (last?.role === "user") last.content.push(part);
  else prompt.push({ role: "user", content: [part] });
}

/** What the provider put beside the part, without what we put there. */
function optionsOf(fidelity: Fidelity | undefined): { providerOptions?: SharedV3ProviderOptions } {
  if (fidelity === undefined) return {};
  const { [ownNamespace]: _own, ...providerOptions } = fidelity;
  return Object.keys(providerOptions).length > 0 ? { providerOptions: providerOptions as SharedV3ProviderOptions } : {};
}

function ownIdOf(fidelity: Fidelity | undefined): string | undefined {
  const own = fidelity?.[ownNamespace];
  const id = isRecord(own) ? own["tool_call_id"] : undefined;
  return typeof id === "string" ? id : undefined;
}

const imageAlone = "[no text: see the image]";

/** A failure without words is refused. */
const noOutput = "[no output]";

const escapedSurrogate = /\\u[dD][89a-fA-F]/;

/**
 * Arguments as a value and as JSON text. Text that is a JSON object goes back as the model wrote it; anything else goes
 * back inside an object, since servers refuse a history with other arguments, and with it every later request.
 */
function readArguments(written: string): { input: unknown; text: string } {
  const text = (written.trim() === "" ? "{}" : written).toWellFormed();
  const value = parseJson(text);
  if (!isRecord(value) || !isShallow(value)) {
    const input = { invalid_arguments: text };
    return { input, text: JSON.stringify(input) };
  }
  if (!escapedSurrogate.test(text)) return { input: value, text };
  const input = deepWellFormed(value);
  return { input, text: JSON.stringify(input) };
}

function outputOf(payload: ToolCallOutputPayload, media: MediaSupport): LanguageModelV3ToolResultOutput {
  const value = payload.output.toWellFormed();
  const parts = (payload.images ?? []).map((image) => imagePart(image, media));
  const text = [value, ...parts.map((part) => (part.type === "text" ? part.text : ""))].filter(Boolean).join("\n");
  const files = parts.filter((part) => part.type === "file");
  if (files.length === 0) {
    return isCompleted(payload)
      ? { type: "text", value: text }
      : { type: "error-text", value: text.trim() === "" ? noOutput : text };
  }
  // Exactly one text: where images go beside the outputs, it alone is the answer to the call.
  return {
    type: "content",
    value: [{ type: "text", text: text.trim() === "" ? imageAlone : text }, ...files.map(resultPart)],
  };
}

function resultPart({ data, mediaType }: Exclude<MediaPart, LanguageModelV3TextPart>) {
  if (data instanceof URL) return { type: "image-url" as const, url: data.href };
  return { type: "image-data" as const, data: String(data), mediaType };
}
