/** OmniMessages as the prompt of a `LanguageModelV3`. Each message is converted once. */
import type {
  LanguageModelV3FilePart,
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
import { isRecord, parseJson } from "../../shared/json.ts";
import { deepWellFormed } from "./well-formed.ts";

/** Our own part of `fidelity` and of `providerOptions`; the rest belongs to the provider. */
export const ownNamespace = "coxswain";

type AssistantContent = Extract<LanguageModelV3Message, { role: "assistant" }>["content"];
type AssistantPart = AssistantContent[number];

interface KnownCall {
  name: string;
  /** The id that the provider gave and gets back. */
  providerId: string;
}

export class PromptConverter {
  readonly #calls = new Map<string, KnownCall>();

  /** Messages of one side that follow each other share a prompt message where the provider expects it. */
  convert(messages: readonly OmniMessage[]): LanguageModelV3Message[] {
    const prompt: LanguageModelV3Message[] = [];
    for (const message of messages) {
      if (isCompleteModelMessage(message)) this.#append(prompt, message.payload);
    }
    return prompt;
  }

  #append(prompt: LanguageModelV3Message[], payload: CompleteModelPayload): void {
    switch (payload.type) {
      case "text":
        if (payload.role === "user") return appendUserText(prompt, payload.text);
        if (payload.text === "") return;
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
        return appendUserFile(prompt, imagePart(payload.image_url));
      case "inline_data": {
        const part: LanguageModelV3FilePart = { type: "file", mediaType: payload.mime_type, data: payload.data };
        if (payload.role === "user") return appendUserFile(prompt, part);
        return appendAssistant(prompt, { ...part, ...optionsOf(payload.fidelity) });
      }
      default:
        return;
    }
  }

  #appendCall(prompt: LanguageModelV3Message[], payload: ToolCallPayload): void {
    if (!isCompleted(payload)) return;
    const providerId = (ownIdOf(payload.fidelity) ?? payload.tool_call_id).toWellFormed();
    const name = payload.name.toWellFormed();
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
      output: outputOf(payload),
    };
    const last = prompt.at(-1);
    if (last?.role === "tool") last.content.push(part);
    else prompt.push({ role: "tool", content: [part] });
  }
}

function appendAssistant(prompt: LanguageModelV3Message[], part: AssistantPart): void {
  const last = prompt.at(-1);
  if (last?.role === "assistant") last.content.push(part);
  else prompt.push({ role: "assistant", content: [part] });
}

/** Each text is a message of its own; one that follows images goes with them. */
function appendUserText(prompt: LanguageModelV3Message[], text: string): void {
  const part: LanguageModelV3TextPart = { type: "text", text: text.toWellFormed() };
  const last = prompt.at(-1);
  const follows = last?.role === "user" && last.content.every((other) => other.type === "file");
  if (last?.role === "user" && follows) last.content.push(part);
  else prompt.push({ role: "user", content: [part] });
}

function appendUserFile(prompt: LanguageModelV3Message[], part: LanguageModelV3FilePart): void {
  const last = prompt.at(-1);
  if (last?.role === "user") last.content.push(part);
  else prompt.push({ role: "user", content: [part] });
}

function imagePart(imageUrl: string): LanguageModelV3FilePart {
  const data = readDataUrl(imageUrl);
  if (data !== undefined) return { type: "file", mediaType: data.mediaType, data: data.base64 };
  return URL.canParse(imageUrl)
    ? { type: "file", mediaType: "image/*", data: new URL(imageUrl) }
    : { type: "file", mediaType: "image/png", data: "" };
}

function readDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  const match = /^data:([^;,]*)((?:;[^;,]*)*),/.exec(url);
  if (match === null) return undefined;
  const content = url.slice(match[0].length);
  const isBase64 = (match[2] ?? "").split(";").includes("base64");
  return {
    mediaType: match[1] || "image/png",
    base64: isBase64 ? content : Buffer.from(percentDecoded(content)).toString("base64"),
  };
}

function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
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

const escapedSurrogate = /\\u[dD][89a-fA-F]/;

/**
 * Arguments as a value and as JSON text. Text that is a JSON object goes back as the model wrote it; anything else goes
 * back inside an object, since servers refuse a history with other arguments, and with it every later request.
 */
function readArguments(written: string): { input: unknown; text: string } {
  const text = (written.trim() === "" ? "{}" : written).toWellFormed();
  const value = parseJson(text);
  if (!isRecord(value)) {
    const input = { invalid_arguments: text };
    return { input, text: JSON.stringify(input) };
  }
  if (!escapedSurrogate.test(text)) return { input: value, text };
  const input = deepWellFormed(value);
  return { input, text: JSON.stringify(input) };
}

function outputOf(payload: ToolCallOutputPayload): LanguageModelV3ToolResultOutput {
  const value = payload.output.toWellFormed();
  const images = payload.images ?? [];
  if (images.length === 0) {
    return { type: isCompleted(payload) ? "text" : "error-text", value };
  }
  const imageParts = images.map((image) => {
    const data = readDataUrl(image);
    return data === undefined
      ? { type: "image-url" as const, url: image }
      : { type: "image-data" as const, data: data.base64, mediaType: data.mediaType };
  });
  return { type: "content", value: [...(value === "" ? [] : [{ type: "text" as const, text: value }]), ...imageParts] };
}
