/** What a provider wants of a request beside its words. Chosen by the name that a model gives itself. */
import type {
  LanguageModelV3CallOptions,
  LanguageModelV3FinishReason,
  LanguageModelV3StreamPart,
  LanguageModelV3Usage,
} from "@ai-sdk/provider";
import type { ThinkingLevelName } from "@coxswain/protocol";
import { anthropicProfile } from "./anthropic.ts";
import { chatProfile } from "./chat.ts";
import { geminiProfile } from "./gemini.ts";
import { responsesProfile } from "./responses.ts";

export interface RequestFacts {
  modelId: string;
  thinkingLevel: ThinkingLevelName | undefined;
  /** Tokens that the window has left for an answer; `undefined` when the window is not known. */
  room: number | undefined;
  /** What the requests of one Session have in common, for providers that route by it. */
  cacheKey: string | undefined;
}

export interface MediaSupport {
  /** Whether the model sees images. */
  vision: boolean;
  /** Media types besides the usual images and PDF. */
  more: RegExp | undefined;
  /** Bytes of one image or file. */
  maxBytes: number;
  /** Whether the provider fetches what an address names. */
  takesUrl: (url: URL) => boolean;
}

/** Reads the raw events of one answer beside the parts that a package makes of them. */
export interface EventWatch {
  /** Tokens told so far. */
  readonly usage: LanguageModelV3Usage | undefined;
  /** Why the answer ended, in the provider's words. */
  readonly finishWords?: string | undefined;
  accept(event: unknown): void;
  /** Whether an `error` part says no more than that the newest event is of a kind that is not known yet. */
  isHarmless?(error: unknown): boolean;
  /** What the newest event said and the part made of it does not. */
  missingAfter?(part: LanguageModelV3StreamPart): LanguageModelV3StreamPart | undefined;
}

export interface ProviderProfile {
  /** The protocol cannot tell a finished call from a cut one before its stream's good end. */
  holdsCalls: boolean;
  /** The request as this provider wants it; the given one is not changed. */
  shape(options: LanguageModelV3CallOptions, facts: RequestFacts): LanguageModelV3CallOptions;
  media: Omit<MediaSupport, "vision">;
  /** What an end means for which the package has no name. Default: an answer like any other. */
  unnamedEnd?: ((word: string) => LanguageModelV3FinishReason["unified"]) | undefined;
  /** For one answer. */
  watch?: (() => EventWatch) | undefined;
}

/** @param provider As a model names itself, such as `anthropic.messages` or `openai.responses`. */
export function profileOf(provider: string): ProviderProfile {
  if (/(^|\.)anthropic(\.|$)/.test(provider)) return anthropicProfile;
  if (provider.endsWith(".responses")) return responsesProfile(provider);
  if (/^google(\.|$)|(^|\.)vertex(\.|$)/.test(provider)) return geminiProfile;
  return chatProfile(provider);
}
