/** A configuration that cannot be used, told in one line: file, line, field, value, and what would be right. */
import { headOf } from "../shared/cut.ts";

/** `usage`: what a person typed. `auth`: a key is missing. */
export type ConfigErrorKind = "usage" | "auth";

export type ConfigErrorCode =
  | "unreadable"
  | "unwritable"
  | "unusable_directory"
  | "invalid_id"
  | "syntax"
  | "unknown_field"
  | "invalid_value"
  | "missing_value"
  | "unsupported"
  | "no_model"
  | "unknown_model"
  | "missing_key";

export interface ConfigErrorDetails {
  file?: string | undefined;
  /** 1-based. */
  line?: number | undefined;
  column?: number | undefined;
  cause?: unknown;
}

export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly code: ConfigErrorCode;
  readonly kind: ConfigErrorKind;
  readonly file: string | undefined;
  readonly line: number | undefined;

  constructor(code: ConfigErrorCode, problem: string, details: ConfigErrorDetails = {}) {
    const { file, line, column, cause } = details;
    const place = file === undefined ? "" : `${[file, line, column].filter((part) => part !== undefined).join(":")}: `;
    super(oneLine(place + problem), cause === undefined ? undefined : { cause });
    this.code = code;
    this.kind = code === "missing_key" ? "auth" : "usage";
    this.file = file;
    this.line = line;
  }
}

// Control characters and line separators.
const unprintable = /[\p{Cc}\p{Zl}\p{Zp}]+/gu;

function oneLine(text: string): string {
  return text.replace(unprintable, " ").trim();
}

const shownLength = 60;

/** A value as it may stand in a message: short, quoted, on one line. */
export function showValue(value: unknown): string {
  if (typeof value === "string") {
    const shown = headOf(value, shownLength);
    return shown.length < value.length ? `${JSON.stringify(shown)}…` : JSON.stringify(value);
  }
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (value instanceof Date) return "a date";
  if (typeof value === "object" && value !== null) return "a table";
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return value.toString();
  return "nothing";
}

/** The known name that a person most likely meant. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestDistance = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    const distance = editDistance(name.slice(0, 40).toLowerCase(), candidate.toLowerCase());
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i += 1) {
    const next = [i];
    for (let j = 1; j <= b.length; j += 1) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
