/** Messages that others wrote: a line of a file, an event from a server, a value from a host. */
import { describeValue, ProtocolError } from "./error.ts";
import type { TokenCounts } from "./event.ts";
import {
  type Check,
  type Fields,
  type Problem,
  fields,
  firstProblem,
  isObject,
  mended,
  object,
  oneOf,
  problemIn,
  text,
  texts,
} from "./field.ts";
import type { OmniMessage } from "./message.ts";
import { payloadSchemas, sessionMetaFields } from "./payload-fields.ts";

const isoTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)?$/;
const timestamp: Check = {
  test: (value) => typeof value === "string" && isoTime.test(value) && !Number.isNaN(Date.parse(value)),
  expected: "an ISO 8601 time such as 2026-01-31T12:00:00.000Z",
};
const sessionIds: Check = {
  test: (value) => Array.isArray(value) && value.length > 0 && texts.test(value),
  expected: "an array of Session ids with at least one (leave it out for a message of this Session)",
};
const envelope: Fields = fields(
  { type: oneOf("session_meta", "model_msg", "event_msg"), timestamp, payload: object },
  { origin: sessionIds },
);

export type ParseResult = { ok: true; message: OmniMessage } | { ok: false; error: ProtocolError };

/**
 * The same object, once it has been checked: the envelope, and of each known payload its fields. Payload types and
 * fields that we do not know stay as they are. Token counts of older writers may lack `input`: see `readTokenCounts`.
 *
 * @throws ProtocolError
 */
export function parseOmniMessage(value: unknown): OmniMessage {
  const error = findError(value);
  if (error !== undefined) throw error;
  return value as OmniMessage;
}

/** As `parseOmniMessage`, with the error as a value. */
export function safeParseOmniMessage(value: unknown): ParseResult {
  const error = findError(value);
  return error === undefined ? { ok: true, message: value as OmniMessage } : { ok: false, error };
}

/**
 * For records of other programs, which may write `null` for an optional field that is absent, and leave out a role that
 * the type implies: a copy that says it as we do. Anything else as `safeParseOmniMessage`.
 */
export function readOmniMessage(value: unknown): ParseResult {
  const exact = safeParseOmniMessage(value);
  if (exact.ok) return exact;
  try {
    if (!isObject(value)) return exact;
    const loose = safeParseOmniMessage(mendedMessage(value));
    return loose.ok ? loose : exact;
  } catch {
    return exact;
  }
}

function mendedMessage(value: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const { type, payload } = value;
  if (!isObject(payload)) return mended(value, envelope);
  const known = typeof payload["type"] === "string" ? payloadSchemas.get(payload["type"])?.fields : undefined;
  const itsFields = type === "session_meta" ? sessionMetaFields : (known ?? []);
  return mended({ ...value, payload: mended(payload, itsFields) }, envelope);
}

function findError(value: unknown): ProtocolError | undefined {
  try {
    return messageError(value);
  } catch {
    // A host's value may be no plain data: a getter that throws, a proxy that was revoked.
    return new ProtocolError(
      "invalid_field",
      "",
      "a message must be plain data, but reading its fields threw an error",
    );
  }
}

function messageError(value: unknown): ProtocolError | undefined {
  if (!isObject(value)) {
    return new ProtocolError("invalid_field", "", `a message must be an object, but is ${describeValue(value)}`);
  }
  const inEnvelope = errorIn(value, envelope, "");
  if (inEnvelope !== undefined) return inEnvelope;
  const { type, payload } = value;
  return isObject(payload) ? payloadError(type, payload) : undefined;
}

function payloadError(envelopeType: unknown, payload: Readonly<Record<string, unknown>>): ProtocolError | undefined {
  const type = payload["type"];
  const schema = typeof type === "string" ? payloadSchemas.get(type) : undefined;
  if (schema !== undefined && schema.envelope !== envelopeType) {
    return new ProtocolError(
      "mismatched_type",
      "payload.type",
      `payload.type ${describeValue(type)} belongs to the type "${schema.envelope}", but the message's type is ${describeValue(envelopeType)}`,
    );
  }
  if (envelopeType === "session_meta") return errorIn(payload, sessionMetaFields, "payload");
  if (typeof type !== "string") return fieldError("payload", { path: ".type", check: text, value: type });
  return schema === undefined ? undefined : errorIn(payload, schema.fields, "payload");
}

function errorIn(
  value: Readonly<Record<string, unknown>>,
  itsFields: Fields,
  prefix: string,
): ProtocolError | undefined {
  const field = firstProblem(value, itsFields);
  return field && fieldError(prefix, problemIn(value, field));
}

function fieldError(prefix: string, problem: Problem): ProtocolError {
  const path = (prefix + problem.path).replace(/^\./, "");
  const expected = problem.check.expected;
  return problem.value === undefined
    ? new ProtocolError("missing_field", path, `${path} is missing; it must be ${expected}`)
    : new ProtocolError("invalid_field", path, `${path} must be ${expected}, but is ${describeValue(problem.value)}`);
}

/** Counts as anyone may have written them: what is missing or no number is 0, `input` is the rest of `total`. */
export function readTokenCounts(counts: Partial<TokenCounts>): TokenCounts {
  const cacheRead = tokens(counts.cache_read) ?? 0;
  const cacheWrite = tokens(counts.cache_write) ?? 0;
  const output = tokens(counts.output) ?? 0;
  const others = cacheRead + cacheWrite + output;
  const total = tokens(counts.total);
  const input = tokens(counts.input) ?? Math.max(0, (total ?? others) - others);
  return { input, cache_read: cacheRead, cache_write: cacheWrite, output, total: total ?? input + others };
}

function tokens(value: unknown): number | undefined {
  return typeof value === "number" && Number.isFinite(value) ? value : undefined;
}
