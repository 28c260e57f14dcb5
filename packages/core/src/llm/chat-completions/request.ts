/** A prompt as the body of a chat completions request. Each prompt message is written once and its text kept. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FilePart,
  LanguageModelV3Message,
  LanguageModelV3ToolResultPart,
} from "@ai-sdk/provider";
import { isRecord, type JsonRecord, nonEmptyString, parseJson } from "../../shared/json.ts";
import type { AddressedSettings } from "../model-settings.ts";
import { ownNamespace } from "../own-namespace.ts";
import { type Dialect, dialectOf } from "./dialect.ts";

type Tools = NonNullable<LanguageModelV3CallOptions["tools"]>;
type AssistantMessage = Extract<LanguageModelV3Message, { role: "assistant" }>;

export class ChatRequestWriter {
  readonly #settings: AddressedSettings;
  readonly #dialect: Dialect;
  readonly #messageTexts = new WeakMap<LanguageModelV3Message, string>();
  readonly #toolTexts = new WeakMap<Tools, string>();

  constructor(settings: AddressedSettings) {
    this.#settings = settings;
    this.#dialect = dialectOf(settings.baseUrl, settings.modelId);
  }

  /** The body as JSON text. */
  write(options: LanguageModelV3CallOptions): string {
    const { prompt, tools } = options;
    const messages = prompt.map((message) => this.#messageText(message)).filter((text) => text !== "");
    const settings = JSON.stringify(this.#parameters(options)).slice(1, -1);
    const declared = tools === undefined || tools.length === 0 ? "" : `,"tools":${this.#toolText(tools)}`;
    const choice = declared === "" || !this.#dialect.toolChoice ? "" : toolChoiceText(options.toolChoice);
    return `{${settings},"messages":[${messages.join(",")}]${declared}${choice}}`;
  }

  #parameters(options: LanguageModelV3CallOptions): JsonRecord {
    const own = options.providerOptions?.[this.#settings.provider] ?? options.providerOptions?.["openaiCompatible"];
    return {
      model: this.#settings.modelId,
      stream: true,
      ...(this.#dialect.streamOptions && { stream_options: { include_usage: true } }),
      [this.#dialect.maxTokensField]: options.maxOutputTokens,
      ...thinkingOf(this.#dialect, own?.["reasoningEffort"]),
      ...(this.#dialect.cacheKey && { prompt_cache_key: options.providerOptions?.[ownNamespace]?.["cacheKey"] }),
      ...(this.#dialect.cacheControl && { cache_control: { type: "ephemeral" } }),
      temperature: options.temperature,
      top_p: options.topP,
      presence_penalty: options.presencePenalty,
      frequency_penalty: options.frequencyPenalty,
      stop: options.stopSequences,
      seed: options.seed,
      response_format: responseFormat(options.responseFormat),
    };
  }

  #messageText(message: LanguageModelV3Message): string {
    const known = this.#messageTexts.get(message);
    if (known !== undefined) return known;
    const text = this.#messages(message)
      .map((written) => JSON.stringify(written))
      .join(",");
    this.#messageTexts.set(message, text);
    return text;
  }

  #toolText(tools: Tools): string {
    const known = this.#toolTexts.get(tools);
    if (known !== undefined) return known;
    const functions = tools
      .filter((tool) => tool.type === "function")
      .map((tool) => ({
        type: "function",
        function: { name: tool.name, description: tool.description, parameters: tool.inputSchema, strict: tool.strict },
      }));
    const text = JSON.stringify(functions);
    this.#toolTexts.set(tools, text);
    return text;
  }

  #messages(message: LanguageModelV3Message): JsonRecord[] {
    switch (message.role) {
      case "system":
        return [{ role: "system", content: message.content }];
      case "user": {
        const parts = message.content.map((part) =>
          part.type === "text" ? { type: "text", text: part.text } : this.#filePart(part),
        );
        const only = parts.length === 1 ? parts[0] : undefined;
        return [{ role: "user", content: only?.["type"] === "text" ? only["text"] : parts }];
      }
      case "assistant":
        return [this.#assistant(message)];
      case "tool":
        return this.#toolOutputs(message.content.filter((part) => part.type === "tool-result"));
    }
  }

  #assistant(message: AssistantMessage): JsonRecord {
    const texts: string[] = [];
    const calls: JsonRecord[] = [];
    const reasoning: JsonRecord = {};
    for (const part of message.content) {
      if (part.type === "text") texts.push(part.text);
      if (part.type === "reasoning" && this.#dialect.takesReasoning)
        addReasoning(reasoning, part.text, part.providerOptions?.[this.#settings.provider]);
      if (part.type !== "tool-call") continue;
      const written = part.providerOptions?.[ownNamespace]?.["arguments"];
      const text = typeof written === "string" ? written : inputText(part.input);
      calls.push({ id: part.toolCallId, type: "function", function: { name: part.toolName, arguments: text } });
    }
    const { reasoningFiller } = this.#dialect;
    if (reasoningFiller !== undefined) reasoning["reasoning_content"] ||= reasoningFiller;
    const content = texts.join("");
    return {
      role: "assistant",
      content: content === "" && calls.length > 0 ? null : content,
      ...reasoning,
      ...(calls.length > 0 && { tool_calls: calls }),
    };
  }

  /** Tool messages hold text alone: their images follow in one user message, after the last of them. */
  #toolOutputs(results: readonly LanguageModelV3ToolResultPart[]): JsonRecord[] {
    const images: JsonRecord[] = [];
    const messages: JsonRecord[] = results.map((result) => {
      const { text, files } = readOutput(result);
      const parts = files.map((file) => this.#filePart(file));
      if (parts.length > 0)
        images.push({ type: "text", text: `Images in the output of ${result.toolCallId}:` }, ...parts);
      return { role: "tool", tool_call_id: result.toolCallId, content: text };
    });
    if (images.length > 0) messages.push({ role: "user", content: images });
    return messages;
  }

  #filePart(part: Pick<LanguageModelV3FilePart, "data" | "mediaType" | "filename">): JsonRecord {
    const { mediaType, filename } = part;
    if (mediaType.startsWith("image/")) {
      return { type: "image_url", image_url: { url: urlOf(part) } };
    }
    if (mediaType === "application/pdf") {
      return { type: "file", file: { filename: filename ?? "document.pdf", file_data: urlOf(part) } };
    }
    return { type: "text", text: `[a file of type ${mediaType}, which this model cannot read]` };
  }
}

function urlOf(part: Pick<LanguageModelV3FilePart, "data" | "mediaType">): string {
  const { data, mediaType } = part;
  if (data instanceof URL) return data.href;
  const base64 = typeof data === "string" ? data : Buffer.from(data).toString("base64");
  return `data:${mediaType === "image/*" ? "image/png" : mediaType};base64,${base64}`;
}

/** Only what this provider itself has said goes back, in the field it came in. */
function addReasoning(target: JsonRecord, text: string, said: JsonRecord | undefined): void {
  const field = said?.["reasoning_field"];
  const details = said?.["reasoning_details"];
  if (Array.isArray(details)) {
    target["reasoning_details"] = [...((target["reasoning_details"] as unknown[] | undefined) ?? []), ...details];
  }
  if (field !== "reasoning_content" && field !== "reasoning") return;
  target[field] = (nonEmptyString(target[field]) ?? "") + text;
}

function inputText(input: unknown): string {
  if (typeof input === "string" && isRecord(parseJson(input))) return input;
  return JSON.stringify(input ?? {});
}

interface Output {
  text: string;
  files: Pick<LanguageModelV3FilePart, "data" | "mediaType">[];
}

function readOutput({ output }: LanguageModelV3ToolResultPart): Output {
  switch (output.type) {
    case "text":
    case "error-text":
      return { text: output.value, files: [] };
    case "json":
    case "error-json":
      return { text: JSON.stringify(output.value), files: [] };
    case "execution-denied":
      return { text: output.reason ?? "Tool call denied.", files: [] };
    case "content":
      return readContentOutput(output.value);
  }
}

function readContentOutput(
  value: Extract<LanguageModelV3ToolResultPart["output"], { type: "content" }>["value"],
): Output {
  const texts: string[] = [];
  const files: Output["files"] = [];
  for (const item of value) {
    if (item.type === "text") texts.push(item.text);
    if (item.type === "image-data" || item.type === "file-data")
      files.push({ data: item.data, mediaType: item.mediaType });
    if (item.type === "image-url" && URL.canParse(item.url))
      files.push({ data: new URL(item.url), mediaType: "image/*" });
  }
  return { text: texts.join("\n"), files };
}

function toolChoiceText(choice: LanguageModelV3CallOptions["toolChoice"]): string {
  if (choice === undefined || choice.type === "auto") return "";
  const value = choice.type === "tool" ? { type: "function", function: { name: choice.toolName } } : choice.type;
  return `,"tool_choice":${JSON.stringify(value)}`;
}

function responseFormat(format: LanguageModelV3CallOptions["responseFormat"]): JsonRecord | undefined {
  if (format?.type !== "json") return undefined;
  if (format.schema === undefined) return { type: "json_object" };
  return { type: "json_schema", json_schema: { name: format.name ?? "answer", schema: format.schema } };
}

function thinkingOf({ thinkingField }: Dialect, effort: unknown): JsonRecord {
  if (effort === undefined) return {};
  if (thinkingField === "reasoning_effort") return { reasoning_effort: effort };
  const isOn = effort !== "none";
  return thinkingField === "thinking"
    ? { thinking: { type: isOn ? "enabled" : "disabled" } }
    : { enable_thinking: isOn };
}
