/** What a schema says and no provider's schema can, as words for its description. */
import { shortened } from "../../shared/cut.ts";
import { isRecord } from "../../shared/json.ts";

const mostValues = 100;
const deepest = 4;
const longestValue = 500;

/** JSON text of a value of unknown shape and size, shortened. */
export function jsonWords(value: unknown): string {
  return shortened((JSON.stringify(bounded(value, 0, { values: 0 })) ?? "?").toWellFormed(), longestValue);
}

/** Several values of unknown shape in one line. */
export function listWords(values: readonly unknown[]): string {
  return shortened(values.slice(0, mostValues).map(jsonWords).join(", "), longestValue);
}

/** One text of several; those that are empty or come again are left out. */
export function joinedWords(words: readonly (string | undefined)[]): string | undefined {
  const kept = new Set(words.filter((word) => word !== undefined && word !== ""));
  return kept.size === 0 ? undefined : [...kept].join(" ");
}

/** A copy that is plain JSON, with an ellipsis for what is too deep or too much. */
function bounded(value: unknown, level: number, count: { values: number }): unknown {
  if (typeof value === "string") return shortened(value.toWellFormed(), longestValue).toWellFormed();
  if (typeof value === "number" || typeof value === "boolean" || value === null) return value;
  if (typeof value !== "object") return undefined;
  count.values += 1;
  if (level >= deepest || count.values > mostValues) return "…";
  if (Array.isArray(value)) return value.slice(0, mostValues).map((inner) => bounded(inner, level + 1, count));
  if (!isRecord(value)) return undefined;
  const entries = Object.keys(value).slice(0, mostValues);
  return Object.fromEntries(entries.map((key) => [key, bounded(value[key], level + 1, count)]));
}
