/** The protocols that the provider packages of the AI SDK speak. Each package is loaded when it is first needed. */
import type { LanguageModelV3 } from "@ai-sdk/provider";
import type { FetchFunction } from "../http/model-fetch.ts";
import { watchedModel } from "../http/watched-model.ts";
import type { AddressedSettings, ModelProtocol } from "../model-settings.ts";

interface PackageOptions {
  baseURL: string;
  apiKey: string;
  fetch: FetchFunction;
}

/** Stands for a key where none is configured: a package that is given none looks for one in the environment. */
const noKey = "none";
const keyHeaders = ["authorization", "x-api-key", "x-goog-api-key"];

type PackageProtocol = Exclude<ModelProtocol, "openai-chat" | "offline">;
type Create = (options: PackageOptions, modelId: string) => LanguageModelV3;

const packages: Record<PackageProtocol, { load: () => Promise<Create>; version?: string }> = {
  anthropic: {
    version: "v1",
    load: async () => {
      const { createAnthropic } = await import("@ai-sdk/anthropic");
      return (options, modelId) => createAnthropic(options).languageModel(modelId);
    },
  },
  gemini: {
    version: "v1beta",
    load: async () => {
      const { createGoogleGenerativeAI } = await import("@ai-sdk/google");
      return (options, modelId) => createGoogleGenerativeAI(options).languageModel(modelId);
    },
  },
  "openai-responses": {
    load: async () => {
      const { createOpenAI } = await import("@ai-sdk/openai");
      return (options, modelId) => createOpenAI(options).responses(modelId);
    },
  },
};

export async function createPackageModel(
  protocol: PackageProtocol,
  { baseUrl, apiKey, modelId }: AddressedSettings,
  fetch: FetchFunction,
): Promise<LanguageModelV3> {
  const { load, version } = packages[protocol];
  const create = await load();
  const baseURL = version === undefined ? baseUrl : versioned(baseUrl, version);
  return watchedModel({ fetch, apiKey, create: (post) => create(packageOptions(baseURL, apiKey, post), modelId) });
}

function packageOptions(baseURL: string, apiKey: string | undefined, post: FetchFunction): PackageOptions {
  if (apiKey !== undefined && apiKey !== "") return { baseURL, apiKey, fetch: post };
  return { baseURL, apiKey: noKey, fetch: (url, init) => post(url, withoutKey(init)) };
}

function withoutKey(init: RequestInit | undefined): RequestInit {
  const headers = new Headers(init?.headers);
  for (const name of keyHeaders) headers.delete(name);
  return { ...init, headers };
}

/** Some write the address with the version of the interface, some without. */
function versioned(baseUrl: string, version: string): string {
  return /\/v\d+[a-z]*\d*$/.test(baseUrl) ? baseUrl : `${baseUrl}/${version}`;
}
