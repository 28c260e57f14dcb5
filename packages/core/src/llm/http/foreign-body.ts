/** A body that is no event stream, although the status says that all is well. */
import { isRecord, parseJson } from "../../shared/json.ts";
import type { Fault } from "../fault/provider-fault.ts";
import { hasErrorField } from "./error-event.ts";

/** What whole answers hold, in one protocol or another. */
const answerFields = ["choices", "candidates", "output", "content"];

/** `undefined` for nothing at all and for the beginning of an event stream: there is no more to say than that it ended. */
export function foreignBodyFault(body: string): Fault | undefined {
  const text = body.trim();
  if (text === "" || text.startsWith(":") || /^(data|event|id|retry):/m.test(text)) return undefined;
  const value = parseJson(text);
  // One provider wraps its errors in an array.
  const told: unknown = Array.isArray(value) ? value[0] : value;
  if (!isRecord(told)) return { kind: "unreadable", detail: `the body is no event stream: ${text}` };
  const isAnswer = !hasErrorField(told) && answerFields.some((field) => Array.isArray(told[field]));
  if (!isAnswer) return { kind: "error_object", error: told };
  return { kind: "unreadable", detail: `the answer came as one object, not as a stream of events: ${text}` };
}
