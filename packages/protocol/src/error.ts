/** What is wrong with a value that claims to be a message. */
export type ProtocolErrorCode = "missing_field" | "invalid_field" | "mismatched_type";

/** The message names the place, shows the value (shortened), and says what would be right. */
export class ProtocolError extends Error {
  override readonly name = "ProtocolError";
  readonly code: ProtocolErrorCode;
  /** For example `payload.tool_call_id`; empty for the message itself. */
  readonly path: string;

  constructor(code: ProtocolErrorCode, path: string, message: string) {
    super(message);
    this.code = code;
    this.path = path;
  }
}

const shownLength = 60;
const shownKeys = 5;

/** A value in a few words: bounded, whatever its size, and free of control characters and half characters. */
export function describeValue(value: unknown): string {
  if (typeof value === "string") return quote(value);
  if (Array.isArray(value)) return `an array of ${value.length}`;
  if (typeof value === "object" && value !== null) return describeObject(value);
  return typeof value === "function" ? "a function" : String(value);
}

function describeObject(value: object): string {
  const keys: string[] = [];
  for (const key in value) {
    if (keys.length === shownKeys) {
      keys.push("…");
      break;
    }
    keys.push(quote(key));
  }
  return keys.length === 0 ? "an empty object" : `an object with ${keys.join(", ")}`;
}

/** JSON leaves some characters as they are that a terminal obeys or that turn the direction of what follows. */
const unsafe = /[\p{Cc}\p{Cf}\u2028\u2029]/gu;

function quote(text: string): string {
  const start = text.length > shownLength ? text.slice(0, shownLength).replace(/[\uD800-\uDBFF]$/, "") : text;
  const shown = JSON.stringify(start).replace(unsafe, (character) => `\\u{${character.codePointAt(0)?.toString(16)}}`);
  return text.length > shownLength ? `${shown}… (${text.length} characters)` : shown;
}
