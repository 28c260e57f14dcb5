/** OpenAI's chat completions, and every server that speaks them. */
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamResult } from "@ai-sdk/provider";
import { ProviderFault } from "../fault/provider-fault.ts";
import { type FetchFunction, keyHider, modelFetch } from "../http/model-fetch.ts";
import type { AddressedSettings } from "../model-settings.ts";
import { BatchedPartStream } from "../part-batches.ts";
import { streamingModel } from "../streaming-model.ts";
import { ChatEventStream } from "./event-stream.ts";
import { ChatRequestWriter } from "./request.ts";

export interface ChatCompletionsOptions {
  settings: AddressedSettings;
  /** Default: the global one. */
  fetch?: FetchFunction | undefined;
}

/**
 * Streams only. A refused request rejects with a `ProviderFault`; what goes wrong later is an `error` part, with a
 * `finish` part after it that tells the usage. Calls are complete only at the stream's good end. Prompt messages and
 * tool lists are written once for each object: do not change them after they were sent.
 */
export function createChatCompletionsModel({ settings, fetch }: ChatCompletionsOptions): LanguageModelV3 {
  const { baseUrl } = settings;
  const hideKeys = keyHider(settings.apiKey);
  const post = modelFetch({ fetch: fetch ?? globalThis.fetch, hideKeys });
  const writer = new ChatRequestWriter(settings);
  const doStream = async (options: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> => {
    const response = await post(`${baseUrl}/chat/completions`, {
      method: "POST",
      headers: headersOf(settings, options.headers),
      body: writer.write(options),
      signal: options.abortSignal ?? null,
    });
    const headers = Object.fromEntries(response.headers);
    if (response.body === null) throw new ProviderFault({ kind: "truncated", detail: "the answer has no body" });
    const isAborted = (): boolean => options.abortSignal?.aborted === true;
    const events = new ChatEventStream(response.body, { namespace: settings.provider, hideKeys, isAborted });
    return { stream: new BatchedPartStream(events), response: { headers } };
  };
  return streamingModel({
    provider: `${settings.provider}.chat`,
    modelId: settings.modelId,
    supportedUrls: { "image/*": [/^https?:\/\//] },
    doStream,
  });
}

function headersOf(settings: AddressedSettings, more: LanguageModelV3CallOptions["headers"]): Record<string, string> {
  const headers: Record<string, string> = { "content-type": "application/json", accept: "text/event-stream" };
  if (settings.apiKey !== undefined && settings.apiKey !== "") headers["authorization"] = `Bearer ${settings.apiKey}`;
  for (const [name, value] of Object.entries(more ?? {})) if (value !== undefined) headers[name.toLowerCase()] = value;
  return headers;
}
