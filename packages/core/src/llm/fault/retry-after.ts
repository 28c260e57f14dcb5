/** How long a provider asks to be left alone: in headers, in fields of its error, or in its words. */
import { isRecord, parseJson } from "../../shared/json.ts";
import type { Fault } from "./provider-fault.ts";

/** Milliseconds; `undefined` when nothing usable is said. */
export function retryAfterOf(fault: Fault, nowMs: number): number | undefined {
  if (fault.kind === "error_object") return fromError(fault.error, nowMs);
  if (fault.kind !== "http") return undefined;
  const { headers, body } = fault;
  const fromHeaders = plainNumber(headers["retry-after-ms"], 1) ?? readRetryAfter(headers["retry-after"], nowMs);
  return fromHeaders ?? fromError(parseJson(body) ?? body, nowMs);
}

/** Seconds, or an HTTP date. */
function readRetryAfter(value: string | undefined, nowMs: number): number | undefined {
  const fromSeconds = plainNumber(value, 1000);
  if (fromSeconds !== undefined || value === undefined) return fromSeconds;
  // A date names its month; this keeps `Date.parse` from guessing one out of a stray number.
  if (!/[a-z]{3}/i.test(value)) return undefined;
  const waitMs = Date.parse(value) - nowMs;
  return waitMs >= 0 ? waitMs : undefined;
}

function plainNumber(value: string | undefined, unitMs: number): number | undefined {
  const text = value?.trim() ?? "";
  return /^\d+(\.\d+)?$/.test(text) ? wholeMs(Number(text) * unitMs) : undefined;
}

function wholeMs(value: number): number | undefined {
  const waitMs = Math.ceil(value);
  return waitMs >= 0 && Number.isSafeInteger(waitMs) ? waitMs : undefined;
}

/** Values of an error that are looked at. */
const maxValues = 500;
const maxTextLength = 2_000;

const millisecondField = /^retry[-_]?after[-_]?(ms|millis|milliseconds)$/i;
const secondField = /^retry[-_]?after([-_]?(s|secs?|seconds))?$/i;
/** A duration that names its unit, as in `google.rpc.RetryInfo`. */
const durationField = /^retry[-_]?delay$/i;

/** Fields say it more exactly than words. */
function fromError(error: unknown, nowMs: number): number | undefined {
  const texts: string[] = [];
  const queue: unknown[] = [error];
  for (let index = 0; index < queue.length && index < maxValues; index += 1) {
    const value = queue[index];
    if (typeof value === "string") texts.push(value);
    else if (Array.isArray(value)) queue.push(...value.slice(0, maxValues));
    else if (isRecord(value)) {
      for (const [name, inner] of Object.entries(value).slice(0, maxValues)) {
        const waitMs = fromField(name, inner, nowMs);
        if (waitMs !== undefined) return waitMs;
        queue.push(inner);
      }
    }
  }
  for (const text of texts) {
    const waitMs = fromWords(text.slice(0, maxTextLength));
    if (waitMs !== undefined) return waitMs;
  }
  return undefined;
}

function fromField(name: string, value: unknown, nowMs: number): number | undefined {
  if (!/^retry/i.test(name) || (typeof value !== "string" && typeof value !== "number")) return undefined;
  const text = String(value).slice(0, maxTextLength);
  if (millisecondField.test(name)) return plainNumber(text, 1) ?? fromDuration(text);
  if (secondField.test(name)) return fromDuration(text) ?? readRetryAfter(text, nowMs);
  return durationField.test(name) ? fromDuration(text) : undefined;
}

const amount = String.raw`\d+(?:\.\d+)?\s*(?:milliseconds?|millis|ms|seconds?|secs?|s|minutes?|mins?|m|hours?|hrs?|h)(?![a-z])`;
/** "1.5s", "6m0s", "2 minutes 30 seconds". A unit may be followed at once by the next number. */
const duration = String.raw`${amount}(?:\s*(?:and\s+)?${amount})*`;
const wholeDuration = new RegExp(`^\\s*${duration}\\s*$`, "i");
const durationInWords = new RegExp(
  String.raw`\b(?:try|trying|retry|retrying|wait|resend)(?:\s+(?:again|your|the|this|request|for|in|after|at|least|about|another)){0,5}\s+(${duration})`,
  "i",
);

function fromWords(text: string): number | undefined {
  const found = durationInWords.exec(text)?.[1];
  return found === undefined ? undefined : fromDuration(found);
}

const units: readonly [RegExp, number][] = [
  [/^m(s|illi)/i, 1],
  [/^s/i, 1_000],
  [/^m/i, 60_000],
  [/^h/i, 3_600_000],
];

function fromDuration(text: string): number | undefined {
  if (!wholeDuration.test(text)) return undefined;
  let totalMs = 0;
  for (const [, number, unit] of text.matchAll(/(\d+(?:\.\d+)?)\s*([a-z]+)/gi)) {
    const unitMs = units.find(([pattern]) => pattern.test(unit ?? ""))?.[1] ?? Number.NaN;
    totalMs += Number(number) * unitMs;
  }
  return wholeMs(totalMs);
}
