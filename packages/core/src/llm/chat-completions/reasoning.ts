/** Reasoning comes in fields of different names and must go back in the field it came in. */
import { isRecord, type JsonRecord, nonEmptyString } from "../../shared/json.ts";

export interface ReasoningPiece {
  text: string;
  /** `content`: inside the answer's own words, from where it does not go back. */
  field: "reasoning_content" | "reasoning" | "reasoning_details" | "content";
}

/** `reasoning_details` may repeat what a plain field says: the plain one wins. */
export function readReasoning(delta: JsonRecord): ReasoningPiece | undefined {
  const content = delta["reasoning_content"];
  if (typeof content === "string" && content !== "") return { text: content, field: "reasoning_content" };
  const plain = delta["reasoning"];
  if (typeof plain === "string" && plain !== "") return { text: plain, field: "reasoning" };
  const details = delta["reasoning_details"];
  if (!Array.isArray(details) || details.length === 0) return undefined;
  const text = details.map((detail) =>
    isRecord(detail) ? (nonEmptyString(detail["text"]) ?? nonEmptyString(detail["summary"]) ?? "") : "",
  );
  return { text: text.join(""), field: "reasoning_details" };
}

const pieces = ["text", "summary", "data", "signature"] as const;

/** Joins the pieces of each detail: those of one index and type belong together. */
export class ReasoningDetails {
  readonly #details: JsonRecord[] = [];

  get all(): readonly JsonRecord[] {
    return this.#details;
  }

  accept(details: unknown): void {
    if (!Array.isArray(details)) return;
    for (const detail of details) if (isRecord(detail)) this.#add(detail);
  }

  #add(detail: JsonRecord): void {
    const last = this.#details.at(-1);
    if (last === undefined || last["index"] !== detail["index"] || last["type"] !== detail["type"]) {
      this.#details.push({ ...detail });
      return;
    }
    for (const [key, value] of Object.entries(detail)) {
      if (value === null || value === undefined) continue;
      const before = last[key];
      const isPiece = (pieces as readonly string[]).includes(key) && typeof before === "string";
      last[key] = isPiece && typeof value === "string" ? before + value : value;
    }
  }
}

/** Some servers send content as a list of typed parts. */
export function readContentParts(content: readonly unknown[]): { text: string; thinking: string } {
  const result = { text: "", thinking: "" };
  for (const part of content) {
    if (!isRecord(part)) continue;
    if (typeof part["text"] === "string") result.text += part["text"];
    else if (typeof part["thinking"] === "string") result.thinking += part["thinking"];
    else if (Array.isArray(part["thinking"])) result.thinking += readContentParts(part["thinking"]).text;
  }
  return result;
}
