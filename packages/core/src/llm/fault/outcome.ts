/** The one table that says how a request that went wrong ended. The first row that matches wins. */
import type { StopReason } from "@coxswain/protocol";
import type { LLMOutcome } from "../../engine/ports.ts";
import { type Evidence, evidenceOf, type Present, presenter } from "./provider-evidence.ts";
import { type Fault, toProviderFault } from "./provider-fault.ts";
import { retryAfterOf } from "./retry-after.ts";

/** `completed` only for a content filter that refused the request before it began. */
export type Classification = Omit<LLMOutcome, "usage"> & {
  /** In words that a person can act on; at most some 700 characters, without key material. */
  errorMessage: string;
};

interface Row {
  status: StopReason;
  matches(fault: Fault, evidence: Evidence): boolean;
  advice: string;
  more?: Partial<Classification>;
}

const authCodes =
  /^(invalid_?api_?key|api_key_invalid|incorrect_api_key|invalid_key|no_?api_?key|missing_api_key|api_key_expired|authentication(_error|_failed|error)?|invalid_authentication(_error)?|auth(_error|orization_error)?|unauthori[sz]ed|unauthenticated|permission(_error|_denied|denied)?|access_denied|accessdenied(exception)?|account_deactivated|unrecognizedclientexception)$/;
const authText =
  /(invalid|incorrect|missing|expired|revoked|no|wrong) api[ _-]?key|api[ _-]?key (is |was |has )?(not valid|invalid|incorrect|missing|expired|been revoked|not provided)|invalid (authentication|credentials|x-api-key)/i;
const forbiddenText =
  /\bkey\b|\[redacted\]|api[ _-]?key|permission|authori[sz]|authenticat|credential|access denied|not have access|not allowed/i;

const overflowCodes =
  /^(context_length_exceeded|context_window_exceeded|model_context_window_exceeded|exceed_context_size_error|input_too_long|prompt_too_long|request_too_large|tokens_limit_reached|max_tokens_exceeded|string_above_max_length|contextwindowexceedederror)$/;
const overflowText =
  /(maximum|max|available) context (length|size|window)|context (length|window|size)[^.]*(exceed|overflow|only)|exceed[^.]*context (length|window|size)|(prompt|input|request|conversation)( is|'s)? too (long|large)(?! for .* per min)|too many (input |prompt )?tokens|input token count[^.]*exceed|exceeds?[^.]*(max(imum)?|limit)[^.]*(input|prompt) (tokens|length)|(input|prompt) (tokens|length)[^.]*exceed|reduce the length of the (messages|prompt|input)|range of input length|context the overflows/i;
const throttleText = /rate.?limit|per (minute|min|day|second)|throttl|\b[tr]pm\b|wait before/i;

const passingCodes =
  /quota|rate_?limit|too_?many_?requests|overloaded|throttl|^(billing_hard_limit_reached|billing_error|credit_balance_too_low|server_error|api_error|internal(_server)?_error|internal|internalservererror|service_?unavailable(_error|exception)?|unavailable|model_?(not_?ready|unavailable)(exception)?|provider_unavailable|upstream_error|bad_gateway|gateway_timeout|resource_exhausted|deadline_exceeded|request_timeout|timeout(_error)?|timeouterror|connection_error|insufficient_balance|insufficient_system_resource|server_busy|engine_overloaded_error|conflict)$/;
const passingText =
  /overloaded|rate.?limit|too many requests|quota|temporarily unavailable|service unavailable|server (is )?busy|internal server error|bad gateway|gateway time-?out|timed? ?out|at capacity|try again later|insufficient (balance|credits)/i;

const certificateCodes =
  /cert|self_signed|^err_(tls|ssl)|^unable_to_(verify|get_issuer)|^hostname_mismatch|^crl_|^invalid_(ca|purpose)/;
const networkCodes =
  /^(e(conn(reset|refused|aborted)|pipe|notfound|ai_again|timedout|netunreach|netdown|hostunreach|hostdown|addrnotavail|proto|socket)|eai_\w+|enotfound|und_err_\w+|hpe_\w+|econnrefused|err_stream_premature_close|err_http2_\w+|timeouterror|aborterror|socketerror)$/;
const networkText =
  /fetch failed|terminated|socket hang up|network (error|connection)|other side closed|connection (error|closed|reset|refused)/i;
const permanentNetworkCodes = /^(und_err_invalid_arg|err_invalid_(url|arg_type|arg_value)|und_err_not_supported)$/;
/** What `fetch` says of an address that it does not even try, in place of a code. */
const permanentNetworkText = /^fetch failed: (bad port|unknown scheme)$/;
const cutBodyCodes = /^(z_\w+|err_brotli\w*|err__error_\w+|err_encoding_invalid_encoded_data)$/;

const filterCodes =
  /^(content_?filter(ed)?|content_policy(_violation)?|responsibleaipolicyviolation|data_?inspection_?failed|moderation_blocked|refusal|sensitive_content)$/;
const filterText = /content management policy|content (filter|policy)|flagged (by|for|as|because)|(was|been) flagged/i;
const permanentCodes =
  /invalid_(request|argument|value|parameter|prompt)|bad_?request|not_?found|unsupported|not_supported|unknown_(parameter|model|url)|model_not|missing_required|validation/;

const has = (codes: RegExp, evidence: Evidence): boolean => evidence.codes.some((code) => codes.test(code));

const isThrottling = (evidence: Evidence): boolean =>
  evidence.status === 429 || has(/rate_?limit|throttl|too_?many/, evidence) || throttleText.test(evidence.text);

function isAuth(_fault: Fault, evidence: Evidence): boolean {
  if (evidence.status === 401) return true;
  const passes = has(passingCodes, evidence) || has(filterCodes, evidence);
  if (evidence.status === 403) return has(authCodes, evidence) || (!passes && forbiddenText.test(evidence.text));
  return has(authCodes, evidence) || (evidence.status < 429 && !passes && authText.test(evidence.text));
}

function isOverflow(fault: Fault, evidence: Evidence): boolean {
  if (fault.kind !== "http" && fault.kind !== "error_object") return false;
  if (evidence.status === 413 || has(overflowCodes, evidence)) return true;
  return !isThrottling(evidence) && overflowText.test(evidence.text);
}

function isPassing(fault: Fault, evidence: Evidence): boolean {
  if (fault.kind === "time_limit") return true;
  const { status } = evidence;
  if ([402, 408, 409, 425, 429].includes(status) || status >= 500) return true;
  if (fault.kind === "exception") return isNetworkFault(evidence);
  if (has(passingCodes, evidence)) return true;
  const isKnownRefusal = status !== 0 || has(permanentCodes, evidence) || has(filterCodes, evidence);
  return fault.kind === "error_object" && !isKnownRefusal && passingText.test(evidence.text);
}

function isNetworkFault(evidence: Evidence): boolean {
  if (evidence.status !== 0) return false;
  if (has(certificateCodes, evidence) || has(permanentNetworkCodes, evidence) || has(cutBodyCodes, evidence))
    return false;
  if (permanentNetworkText.test(evidence.text)) return false;
  return has(networkCodes, evidence) || networkText.test(evidence.text);
}

function isFiltered(fault: Fault, evidence: Evidence): boolean {
  if (fault.kind !== "http" && fault.kind !== "error_object") return false;
  return has(filterCodes, evidence) || ([400, 403, 451].includes(evidence.status) && filterText.test(evidence.text));
}

function isMalformed(fault: Fault, evidence: Evidence): boolean {
  if (["truncated", "unreadable", "cut_call", "empty_reply"].includes(fault.kind)) return true;
  if (fault.kind === "exception") return has(cutBodyCodes, evidence);
  return fault.kind === "error_object" && evidence.status === 0 && !has(permanentCodes, evidence);
}

const rows: readonly Row[] = [
  { status: "aborted", matches: (fault) => fault.kind === "aborted", advice: "" },
  {
    status: "auth",
    matches: isAuth,
    advice: "Check the API key of this model, if it has one (cox models list), and what it may be used for.",
  },
  {
    status: "failed",
    matches: isOverflow,
    advice: "The input does not fit into the model's context window: compact the Session or choose a larger model.",
    more: { contextOverflow: true },
  },
  { status: "timeout", matches: isPassing, advice: "" },
  {
    status: "completed",
    matches: isFiltered,
    advice: "Rephrase the request.",
    more: { finishReason: "content_filter" },
  },
  { status: "malformed", matches: isMalformed, advice: "" },
  {
    status: "failed",
    matches: (fault) => fault.kind === "redirect",
    advice: "Set base_url to the address that serves the model, if you trust it.",
  },
  {
    status: "failed",
    matches: isCertificateFault,
    advice: "Set NODE_EXTRA_CA_CERTS if the server uses a certificate of your own authority.",
  },
  {
    status: "failed",
    matches: () => true,
    advice: "Check the model's settings: model id, base URL and parameters.",
  },
];

function isCertificateFault(fault: Fault, evidence: Evidence): boolean {
  return fault.kind === "exception" && has(certificateCodes, evidence);
}

/**
 * @param error A `Fault`'s carrier (`ProviderFault`), or anything that a model threw or put into an `error` part.
 * @param nowMs Milliseconds since the epoch, for a Retry-After that is a date.
 */
export function classify(error: unknown, nowMs: number): Classification {
  const carried = toProviderFault(error);
  const { fault } = carried;
  const present = presenter(carried.hideKeys);
  if (fault.kind === "told") return { status: fault.status, errorMessage: present(fault.message) };
  const evidence = evidenceOf(carried);
  const row = rows.find((candidate) => candidate.matches(fault, evidence));
  if (row === undefined) throw new TypeError("the last row of the outcome table matches everything");
  const classification: Classification = {
    status: row.status,
    errorMessage: [describe(fault, evidence, present), row.advice].filter((text) => text !== "").join(" "),
    ...row.more,
  };
  const retryAfterMs = retryAfterOf(fault, nowMs);
  if (retryAfterMs !== undefined) classification.retryAfterMs = retryAfterMs;
  const [code] = evidence.codes;
  if (row.status === "completed" && code !== undefined) classification.finishReasonRaw = code;
  if (fault.kind === "empty_reply") {
    classification.finishReason = fault.finishReason;
    if (fault.finishReasonRaw !== undefined) classification.finishReasonRaw = fault.finishReasonRaw;
  }
  return classification;
}

const limitNames = { total: "total", first_content: "first-content", idle: "idle" } as const;

function describe(fault: Fault, evidence: Evidence, present: Present): string {
  const words = evidence.text === "" ? "" : `: ${evidence.text}`;
  switch (fault.kind) {
    case "aborted":
      return "The request was stopped.";
    case "http":
      return sentence(`The provider refused the request with HTTP ${fault.status}${words}`);
    case "redirect":
      return `The provider answered with HTTP ${fault.status}, a redirect to ${evidence.text}; a key is not sent on to another address.`;
    case "error_object":
      return sentence(`The provider reported an error in its answer${words || ", without details"}`);
    case "exception":
      return sentence(
        `The request to the provider failed${words || `: ${present(String(fault.error))}`}${codeOf(evidence)}`,
      );
    case "time_limit":
      return `The model sent no ${fault.limit === "total" ? "complete answer" : "content"} for ${fault.limitMs / 1000} s (${limitNames[fault.limit]} limit).`;
    case "truncated":
      return sentence(`The answer ended before its end marker: ${present(fault.detail)}`);
    case "unreadable":
      return sentence(`The provider sent something that cannot be read: ${present(fault.detail)}`);
    case "cut_call":
      return `The answer reached its output limit inside a call of ${present(fault.name) || "a tool"}; a higher max_tokens may help.`;
    case "empty_reply":
      return `The model ended its answer (${present(fault.finishReasonRaw ?? fault.finishReason)}) with neither text nor a tool call.`;
    case "told":
      return present(fault.message);
  }
}

function sentence(text: string): string {
  return /[.!?…]$/.test(text) ? text : `${text}.`;
}

/** The system's own word, by which people search. */
function codeOf(evidence: Evidence): string {
  const code = evidence.codes.find((candidate) => /^(e[a-z]|und_|cert|err_|self|depth|unable)/.test(candidate));
  return code === undefined || evidence.text.toLowerCase().includes(code) ? "" : ` (${code.toUpperCase()})`;
}
