/** What the entry of a model says, and what the name of its provider implies. */
import type { ModelProtocol } from "../llm/model-settings.ts";
import { knownProvider, usualAddress } from "../llm/provider/known-providers.ts";
import type { ModelEntry } from "./project-config.ts";

export function protocolOf(entry: ModelEntry): ModelProtocol | undefined {
  return entry.protocol ?? impliedProtocol(entry);
}

/** A known provider's own, or what others speak at another address. */
export function impliedProtocol(entry: ModelEntry): ModelProtocol | undefined {
  const provider = knownProvider(entry.provider);
  const given = hostOf(givenAddress(entry));
  const isElsewhere = given !== undefined && given !== hostOf(provider?.baseUrl);
  return (isElsewhere ? provider?.protocolElsewhere : undefined) ?? provider?.protocol;
}

/** An empty one is none. */
export function givenAddress({ baseUrl }: ModelEntry): string | undefined {
  const given = baseUrl?.trim();
  return given === "" ? undefined : given;
}

/** Where the provider is, or the maker of the protocol. */
export function impliedAddress(entry: ModelEntry): string | undefined {
  const protocol = protocolOf(entry);
  return protocol && usualAddress(entry.provider, protocol);
}

export function addressOf(entry: ModelEntry): string | undefined {
  return givenAddress(entry) ?? impliedAddress(entry);
}

function hostOf(address: string | undefined): string | undefined {
  return address !== undefined && URL.canParse(address) ? new URL(address).host : undefined;
}
