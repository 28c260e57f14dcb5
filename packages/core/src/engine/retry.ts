/** Whether a request that ended so is tried again, and when. Pure. */
import type { RequestEndPayload, StopReason } from "@coxswain/protocol";
import type { LLMOutcome } from "./ports.ts";

export interface RetryLimits {
  maxReconnects: number;
  maxEmptyReplies: number;
  backoffMs: number;
  backoffMaxMs: number;
}

/** What has been tried so far, the attempt in question not counted. */
export interface Tries {
  attempts: number;
  emptyReplies: number;
}

export interface Verdict {
  status: StopReason;
  errorMessage: string | undefined;
  /** Set exactly when another attempt follows. */
  retryInMs: number | undefined;
  /** 1-based. */
  attempt: number;
}

export const noTries: Tries = { attempts: 0, emptyReplies: 0 };

export function judge(outcome: LLMOutcome, tries: Tries, limits: RetryLimits): Verdict {
  const attempt = tries.attempts + 1;
  const { status, errorMessage } = outcome;
  const isTransient = status === "timeout" || status === "malformed";
  if (!isTransient) return { status, errorMessage, attempt, retryInMs: undefined };
  const isExhausted =
    attempt > limits.maxReconnects || (isEmptyReply(outcome) && tries.emptyReplies >= limits.maxEmptyReplies);
  if (isExhausted) {
    const reason = errorMessage ?? (status === "timeout" ? "the model did not answer" : "the answer was cut");
    return {
      status: "failed",
      errorMessage: `gave up after ${attempt} attempts: ${reason}`,
      attempt,
      retryInMs: undefined,
    };
  }
  return { status, errorMessage, attempt, retryInMs: waitBefore(attempt, outcome.retryAfterMs, limits) };
}

export function countTry(tries: Tries, outcome: LLMOutcome): Tries {
  return { attempts: tries.attempts + 1, emptyReplies: tries.emptyReplies + (isEmptyReply(outcome) ? 1 : 0) };
}

/** The end of the request as a record says it. */
export function endDetails(
  verdict: Verdict,
  outcome: LLMOutcome,
): { [K in keyof Omit<RequestEndPayload, "type" | "status">]: RequestEndPayload[K] | undefined } {
  const isPartOfSeries = verdict.attempt > 1 || verdict.retryInMs !== undefined;
  return {
    error_message: verdict.errorMessage,
    attempt: isPartOfSeries ? verdict.attempt : undefined,
    retry_in_ms: verdict.retryInMs,
    finish_reason: finishReasonOf(outcome),
    finish_reason_raw: outcome.finishReasonRaw,
  };
}

/** A clean end with neither text nor call. */
function isEmptyReply(outcome: LLMOutcome): boolean {
  return outcome.status === "malformed" && outcome.finishReason !== undefined;
}

function waitBefore(attempt: number, retryAfterMs: number | undefined, limits: RetryLimits): number {
  const backoff = Math.min(limits.backoffMs * 2 ** (attempt - 1), limits.backoffMaxMs);
  const asked = retryAfterMs !== undefined && Number.isFinite(retryAfterMs) && retryAfterMs > 0 ? retryAfterMs : 0;
  return Math.max(backoff, Math.min(asked, limits.backoffMaxMs));
}

function finishReasonOf(outcome: LLMOutcome): RequestEndPayload["finish_reason"] {
  switch (outcome.finishReason) {
    case "stop":
    case "length":
    case "tool_calls":
    case "content_filter":
      return outcome.finishReason;
    case undefined:
      return undefined;
    default:
      return "other";
  }
}
