/** OpenAI's chat completions, and every server that speaks them. */
import type { LanguageModelV3, LanguageModelV3CallOptions, LanguageModelV3StreamResult } from "@ai-sdk/provider";
import { mask, usableSecrets } from "../../shared/secrets.ts";
import { readBaseUrl } from "../http/base-url.ts";
import { collectParts } from "../collect.ts";
import type { ModelSettings } from "../model-settings.ts";
import { ModelSupportError } from "../model-support-error.ts";
import { BatchedPartStream } from "../context/part-batches.ts";
import { ProviderFault } from "../fault/provider-fault.ts";
import { ChatEventStream } from "./event-stream.ts";
import { ChatRequestWriter } from "./request.ts";

export type FetchFunction = typeof globalThis.fetch;

export interface ChatCompletionsOptions {
  settings: ModelSettings;
  /** Default: the global one. */
  fetch?: FetchFunction | undefined;
}

const defaultBaseUrl = "https://api.openai.com/v1";
/** Bytes read of an error's body. */
const maxErrorBytes = 64 * 1024;

/**
 * Streams only. A refused request rejects with a `ProviderFault`; what goes wrong later is an `error` part, with a
 * `finish` part after it that tells the usage. Calls are complete only at the stream's good end. Prompt messages and
 * tool lists are written once for each object: do not change them after they were sent.
 *
 * @throws ModelSupportError for an address that cannot be one
 */
export function createChatCompletionsModel({ settings, fetch }: ChatCompletionsOptions): LanguageModelV3 {
  const baseUrl = checkedBaseUrl(settings);
  const keys = usableSecrets([settings.apiKey ?? ""]);
  const hideKey = (text: string): string => keys.reduce((shown, key) => shown.replaceAll(key, mask), text);
  const writer = new ChatRequestWriter(settings, baseUrl);
  const doStream = async (options: LanguageModelV3CallOptions): Promise<LanguageModelV3StreamResult> => {
    const response = await send(fetch ?? globalThis.fetch, `${baseUrl}/chat/completions`, {
      method: "POST",
      headers: headersOf(settings, options.headers),
      body: writer.write(options),
      signal: options.abortSignal ?? null,
    });
    const headers = Object.fromEntries(response.headers);
    if (!response.ok) {
      const body = await readError(response);
      throw new ProviderFault({ kind: "http", status: response.status, headers, body: hideKey(body) });
    }
    if (response.body === null) throw new ProviderFault({ kind: "truncated", detail: "the answer has no body" });
    const isAborted = (): boolean => options.abortSignal?.aborted === true;
    const events = new ChatEventStream(response.body, { namespace: settings.provider, hideKey }, isAborted);
    return { stream: new BatchedPartStream(events), response: { headers } };
  };
  return {
    specificationVersion: "v3",
    provider: `${settings.provider}.chat`,
    modelId: settings.modelId,
    supportedUrls: { "image/*": [/^https?:\/\//] },
    doStream,
    doGenerate: async (options) => collectParts((await doStream(options)).stream),
  };
}

function checkedBaseUrl({ provider, modelId, baseUrl }: ModelSettings): string {
  const result = readBaseUrl(baseUrl ?? defaultBaseUrl);
  if (result.ok) return result.url;
  throw new ModelSupportError(`${provider}/${modelId}: base_url ${result.problem}`);
}

async function send(fetch: FetchFunction, url: string, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, init);
  } catch (error) {
    if (init.signal?.aborted === true) throw error;
    throw new ProviderFault({ kind: "exception", error });
  }
}

function headersOf(settings: ModelSettings, more: LanguageModelV3CallOptions["headers"]): Record<string, string> {
  const headers: Record<string, string> = { "content-type": "application/json", accept: "text/event-stream" };
  if (settings.apiKey !== undefined && settings.apiKey !== "") headers["authorization"] = `Bearer ${settings.apiKey}`;
  for (const [name, value] of Object.entries(more ?? {})) if (value !== undefined) headers[name.toLowerCase()] = value;
  return headers;
}

/** As much of the body as arrives; a body that breaks off does not hide the status. */
async function readError(response: Response): Promise<string> {
  const reader = response.body?.getReader();
  if (reader === undefined) return "";
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  try {
    while (size < maxErrorBytes) {
      const { done, value } = await reader.read();
      if (done) return text + decoder.decode();
      size += value.byteLength;
      text += decoder.decode(value, { stream: true });
    }
  } catch {
    return text;
  }
  reader.cancel().catch(() => undefined);
  return text;
}
