/** What can go wrong with a request, whatever carried it. `classify` turns it into the outcome. */
import type { StopReason } from "@coxswain/protocol";
import { isRecord, nonEmptyString, parseJson } from "../../shared/json.ts";

export type Fault =
  | { kind: "aborted" }
  | { kind: "http"; status: number; headers: Record<string, string>; body: string }
  /** To another address, where we do not follow: the key would go there too. */
  | { kind: "redirect"; status: number; target: string }
  /** An error that the provider wrote into an answer which began well. */
  | { kind: "error_object"; error: unknown }
  /** Something thrown: the network, a certificate, a bug of an adapter. */
  | { kind: "exception"; error: unknown }
  | { kind: "time_limit"; limit: "total" | "first_content" | "idle"; limitMs: number }
  | { kind: "truncated"; detail: string }
  | { kind: "unreadable"; detail: string }
  | { kind: "cut_call"; name: string }
  | { kind: "empty_reply"; finishReason: string; finishReasonRaw?: string | undefined }
  /** How it ended is known, and so are the words: of a scripted model, or of a package that misses its key. */
  | { kind: "told"; status: StopReason; message: string };

export type HideKeys = (text: string) => string;

/** Carries a fault through a `LanguageModelV3`: thrown by `doStream`, or in an `error` part. */
export class ProviderFault extends Error {
  override readonly name = "ProviderFault";
  readonly fault: Fault;
  /** Takes the keys of the request out of whatever words are made of the fault. */
  readonly hideKeys: HideKeys;

  constructor(fault: Fault, hideKeys: HideKeys = (text) => text) {
    super(`model request: ${fault.kind}`);
    this.fault = fault;
    this.hideKeys = hideKeys;
  }
}

const unreadableErrors = new Set(["AI_JSONParseError", "AI_TypeValidationError"]);
const truncationErrors = new Set([
  "AI_InvalidResponseDataError",
  "AI_EmptyResponseBodyError",
  "AI_NoContentGeneratedError",
]);

/**
 * Whatever a model threw or put into an `error` part. Knows the error classes of the provider packages by their names;
 * a `ProviderFault` that one of them wraps is what happened.
 */
export function toProviderFault(error: unknown): ProviderFault {
  return carriedFault(error) ?? new ProviderFault(readFault(error));
}

const maxCauses = 10;

function carriedFault(error: unknown): ProviderFault | undefined {
  let current = error;
  for (let depth = 0; depth < maxCauses && isRecord(current); depth += 1) {
    if (current instanceof ProviderFault) return current;
    current = current["cause"];
  }
  return undefined;
}

function readFault(error: unknown): Fault {
  if (!isRecord(error)) return { kind: "error_object", error };
  const name = typeof error["name"] === "string" ? error["name"] : "";
  const message = typeof error["message"] === "string" ? error["message"] : "";
  if (unreadableErrors.has(name)) {
    const value = isRecord(error["value"]) ? error["value"] : parseJson(nonEmptyString(error["text"]) ?? "");
    if (isRecord(value) && value["error"]) return { kind: "error_object", error: value };
    return { kind: "unreadable", detail: message };
  }
  if (truncationErrors.has(name)) return { kind: "truncated", detail: message };
  if (name === "AI_LoadAPIKeyError") return { kind: "told", status: "auth", message };
  const status = error["statusCode"];
  // A package that looks at the first event itself, and finds one that it does not know.
  if (nonEmptyString(error["responseBody"])?.includes('"AI_TypeValidationError"') === true)
    return { kind: "unreadable", detail: message };
  if (typeof status === "number" && status >= 400) {
    return { kind: "http", status, headers: headersOf(error["responseHeaders"]), body: bodyOf(error, message) };
  }
  return error instanceof Error || "cause" in error
    ? { kind: "exception", error }
    : { kind: "error_object", error: error["error"] ?? error };
}

function headersOf(value: unknown): Record<string, string> {
  if (!isRecord(value)) return {};
  return Object.fromEntries(Object.entries(value).map(([name, text]) => [name.toLowerCase(), String(text)]));
}

function bodyOf(error: Record<string, unknown>, message: string): string {
  const body = error["responseBody"];
  if (typeof body === "string" && body !== "") return body;
  return isRecord(error["data"]) ? JSON.stringify(error["data"]) : message;
}
