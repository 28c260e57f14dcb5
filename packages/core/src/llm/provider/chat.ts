/** Chat completions, and every package that is not known by name. */
import { ownNamespace } from "../own-namespace.ts";
import { openaiEffort } from "./openai-effort.ts";
import { optionsNamespace } from "./options-namespace.ts";
import type { ProviderProfile } from "./profile.ts";

export function chatProfile(provider: string): ProviderProfile {
  const namespace = optionsNamespace(provider);
  return {
    holdsCalls: /(^|\.)chat$/.test(provider),
    media: { more: undefined, maxBytes: 20 * 1024 * 1024, takesUrl: () => true },
    shape(options, { modelId, thinkingLevel, cacheKey }) {
      return {
        ...options,
        providerOptions: {
          ...(thinkingLevel !== undefined && {
            [namespace]: { reasoningEffort: openaiEffort(modelId, thinkingLevel) },
          }),
          ...(cacheKey !== undefined && { [ownNamespace]: { cacheKey } }),
        },
      };
    },
  };
}
