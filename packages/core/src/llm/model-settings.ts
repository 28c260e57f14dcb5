/** What configuration says of one model, resolved: the input of every adapter. */

export const modelProtocols = ["openai-chat", "openai-responses", "anthropic", "gemini", "offline"] as const;

export type ModelProtocol = (typeof modelProtocols)[number];

export interface ModelSettings {
  provider: string;
  modelId: string;
  protocol: ModelProtocol;
  /** Without a trailing slash. Absent: the usual one of the provider, or else of the protocol. */
  baseUrl?: string | undefined;
  apiKey?: string | undefined;
  /** Tokens; 0 when unknown. */
  contextWindow: number;
  /** Tokens of one answer. Absent: the provider's own limit. */
  maxOutputTokens?: number | undefined;
  /** Whether it takes images. */
  vision: boolean;
}

/** With the address that the requests go to. */
export interface AddressedSettings extends ModelSettings {
  baseUrl: string;
}

/** Milliseconds, by the injected clock. */
export interface ModelTimeLimits {
  /** From sending the request to its good end. */
  totalMs: number;
  /** From sending the request to the first content part. */
  firstContentMs: number;
  /** Between two content parts; keep-alives do not count. */
  idleMs: number;
}
