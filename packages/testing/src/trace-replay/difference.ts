/** Where two records part, in words. */
import { isDeepStrictEqual } from "node:util";
import { type OmniMessage, readTokenCounts } from "@coxswain/core";

export interface ReplayDifference {
  /** Such as `record 12 of context 2`. */
  place: string;
  expected: string;
  found: string;
}

/** What is compared: everything but times, which a replay has of its own. */
export function comparable(message: OmniMessage): unknown {
  const { timestamp: _, ...rest } = message;
  const value = JSON.parse(JSON.stringify(rest)) as { payload: Record<string, unknown> };
  const { payload } = message;
  if (payload.type === "token_usage") {
    value.payload["session"] = readTokenCounts(payload.session);
    value.payload["request"] = readTokenCounts(payload.request);
  }
  // Others write an absent reason as null.
  if (payload.type === "abort" && payload.reason === null) delete value.payload["reason"];
  return value;
}

/** `undefined` when both say the same. */
export function differenceOf(expected: unknown, found: unknown, place: string): ReplayDifference | undefined {
  if (isDeepStrictEqual(expected, found)) return undefined;
  const parts = partingPath(expected, found, "");
  return parts === undefined ? undefined : { place: `${place}${parts.path}`, ...showBoth(parts.expected, parts.found) };
}

interface Parting {
  path: string;
  expected: unknown;
  found: unknown;
}

/** Into the first field that differs, as long as both sides have the same kind of thing there. */
function partingPath(expected: unknown, found: unknown, path: string): Parting | undefined {
  if (isDeepStrictEqual(expected, found)) return undefined;
  if (!isObject(expected) || !isObject(found) || Array.isArray(expected) !== Array.isArray(found)) {
    return { path, expected, found };
  }
  // Two kinds of record have nothing to be compared field by field.
  if (expected["type"] !== found["type"]) return { path, expected, found };
  const [a, b] = [expected["payload"], found["payload"]];
  if (isObject(a) && isObject(b) && a["type"] !== b["type"]) return { path, expected: a, found: b };
  for (const key of new Set([...Object.keys(expected), ...Object.keys(found)])) {
    const parting = partingPath(expected[key], found[key], `${path}, ${key}`);
    if (parting !== undefined) return parting;
  }
  return { path, expected, found };
}

const shownLength = 160;
const lengthBefore = 40;

/** Long texts from shortly before where they part. */
function showBoth(expected: unknown, found: unknown): { expected: string; found: string } {
  const [a, b] = [asText(expected), asText(found)];
  let same = 0;
  while (same < a.length && same < b.length && a[same] === b[same]) same += 1;
  const start = a.length <= shownLength && b.length <= shownLength ? 0 : Math.max(0, same - lengthBefore);
  return { expected: excerpt(a, start), found: excerpt(b, start) };
}

function excerpt(text: string, start: number): string {
  const piece = text.slice(start, start + shownLength).toWellFormed();
  return `${start > 0 ? "…" : ""}${piece}${start + shownLength < text.length ? "…" : ""}`;
}

function asText(value: unknown): string {
  return value === undefined ? "nothing" : JSON.stringify(value);
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null;
}
