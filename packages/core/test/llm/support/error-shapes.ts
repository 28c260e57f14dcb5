/** Errors as each provider writes them: as the body of a refusal, and as an event of an answer that began well. */
import { event, namedEvent, type WireProtocol } from "./streams.ts";

export interface WireError {
  message: string;
  /** In the provider's own word. */
  code?: string;
  /** Of Gemini: the HTTP status, which its errors repeat. */
  status?: number;
  /** Of Gemini. */
  details?: unknown[];
}

export function refusalBody(protocol: WireProtocol, error: WireError): string {
  return JSON.stringify(errorOf(protocol, error));
}

/** In every form that the protocol has for it. */
export function errorEvents(protocol: WireProtocol, error: WireError): string[] {
  const { message, code = null } = error;
  switch (protocol) {
    case "openai-chat":
    case "gemini":
      return [event(errorOf(protocol, error))];
    case "anthropic":
      return [namedEvent(errorOf(protocol, error) as { type: string })];
    case "openai-responses": {
      const response = { id: "resp_1", object: "response", created_at: 1_700_000_000, model: "test-model", output: [] };
      return [
        namedEvent({ type: "error", code, message, param: null, sequence_number: 1 }),
        namedEvent({ type: "error", error: { type: code ?? "error", code, message, param: null }, sequence_number: 1 }),
        namedEvent({
          type: "response.failed",
          response: { ...response, status: "failed", error: { code, message } },
          sequence_number: 1,
        }),
      ];
    }
  }
}

function errorOf(protocol: WireProtocol, { message, code, status, details }: WireError): unknown {
  switch (protocol) {
    case "openai-chat":
    case "openai-responses":
      return { error: { message, type: code ?? "error", param: null, code: code ?? null } };
    case "anthropic":
      return { type: "error", error: { type: code ?? "error", message }, request_id: "req_1" };
    case "gemini":
      return {
        error: { code: status ?? null, message, status: code ?? "UNKNOWN_TO_ALL", ...(details && { details }) },
      };
  }
}
