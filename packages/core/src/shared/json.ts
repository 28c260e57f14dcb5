/** Looking into JSON of unknown shape. */

export type JsonRecord = Record<string, unknown>;

export function isRecord(value: unknown): value is JsonRecord {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The parsed value, or `undefined` when the text is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function nonEmptyString(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** So that sums of them are exact. */
const mostThings = 1e12;

/** A number of things, such as tokens; `undefined` for anything else, also below 0. */
export function countOf(value: unknown): number | undefined {
  return typeof value === "number" && value >= 0 && value <= mostThings ? Math.round(value) : undefined;
}

/** Whether it nests no deeper than people write; what does can overflow whoever walks through it. */
export function isShallow(value: unknown, levels = 100): boolean {
  if (typeof value !== "object" || value === null) return true;
  return levels > 0 && Object.values(value).every((inner) => isShallow(inner, levels - 1));
}
