/** Which events of an answer say that it has failed. */
import { isRecord, type JsonRecord } from "../../shared/json.ts";

/** Fields of the events that say something else, by protocol. */
const goodFields = ["choices", "object", "candidates", "promptFeedback", "usageMetadata"];

/**
 * What the event says of an error; `undefined` when it reports none. Errors come under `error`, as an object of type
 * error, as an event of that name, or as a message in place of an answer.
 *
 * @param name Of the event, where it has one.
 */
export function errorIn(event: unknown, name: string | undefined): unknown {
  // One provider wraps its errors in an array.
  if (Array.isArray(event)) return errorIn(event[0], name);
  if (name === "error") return event ?? {};
  if (!isRecord(event)) return undefined;
  const { type } = event;
  if (type === "response.failed") return failureOf(event);
  if (type === "error" || event["object"] === "error" || hasErrorField(event)) return withoutAnswer(event);
  const isOfOtherKind = typeof type === "string" && !/error/i.test(type);
  if (isOfOtherKind || goodFields.some((field) => field in event)) return undefined;
  return typeof event["message"] === "string" || typeof event["detail"] === "string" ? event : undefined;
}

/** Some servers write `error: null` where nothing is wrong. */
export function hasErrorField(value: JsonRecord): boolean {
  return Boolean(value["error"]);
}

function failureOf({ response }: JsonRecord): unknown {
  if (!isRecord(response)) return { message: "the answer failed" };
  const { error, incomplete_details: details } = response;
  return error ?? { message: "the answer failed, and no reason was given", ...(isRecord(details) && { details }) };
}

/** The answer's own part of an event says nothing about the error. */
function withoutAnswer(event: JsonRecord): JsonRecord {
  const { choices: _choices, candidates: _candidates, id: _id, object: _object, ...about } = event;
  return about;
}
