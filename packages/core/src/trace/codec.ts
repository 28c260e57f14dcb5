/** One record, one line. */
import { type OmniMessage, readOmniMessage } from "@coxswain/protocol";
import { mask, usableSecrets } from "../shared/secrets.ts";

/** Makes lines, without their `\n`. */
export type RecordEncoder = (message: OmniMessage) => string;

/**
 * @param secrets Texts that must never be written; each occurrence becomes `[redacted]`. Shorter ones than 8
 * characters are not looked for.
 */
export function createRecordEncoder(secrets: readonly string[] = []): RecordEncoder {
  const searched = secretForms(secrets);
  if (searched.length === 0) return stringify;
  return (message) => {
    const line = stringify(message);
    // In a line a secret stands as JSON writes it, in arguments of a tool (JSON in JSON) twice so.
    const holdsSecret = searched.some((form) => line.includes(quoted(form)));
    return holdsSecret ? stringify(withoutSecrets(message, searched)) : line;
  };
}

/** JSON.stringify writes half a surrogate pair as an escape that many readers refuse. */
function stringify(message: OmniMessage): string {
  const line = JSON.stringify(message);
  return line.includes("\\ud") ? replaceHalfCharacters(line) : line;
}

function replaceHalfCharacters(line: string): string {
  // Escapes are taken one after the other, so that an escaped backslash before "ud83d" is not mistaken for one.
  return line.replace(/\\(?:u(d[89a-f][0-9a-f]{2})|.)/g, (escape: string, half: string | undefined) =>
    half === undefined ? escape : "\ufffd",
  );
}

function quoted(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}

function secretForms(secrets: readonly string[]): string[] {
  return [...new Set(usableSecrets(secrets).flatMap((secret) => [secret, quoted(secret)]))];
}

function withoutSecrets(message: OmniMessage, forms: readonly string[]): OmniMessage {
  const clean = (value: unknown): unknown => {
    if (typeof value === "string") return forms.reduce((text, form) => text.replaceAll(form, mask), value);
    if (Array.isArray(value)) return value.map(clean);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, content]) => [key, clean(content)]));
  };
  return { ...message, payload: clean(message.payload) } as OmniMessage;
}

export type DecodedLine =
  | { kind: "message"; message: OmniMessage }
  /** No JSON: cut, or damaged. */
  | { kind: "unreadable" }
  /** JSON, but no message. */
  | { kind: "invalid" };

const unreadable: DecodedLine = { kind: "unreadable" };
const invalid: DecodedLine = { kind: "invalid" };

export function decodeLine(line: string): DecodedLine {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return unreadable;
  }
  const result = readOmniMessage(value);
  return result.ok ? { kind: "message", message: result.message } : invalid;
}
