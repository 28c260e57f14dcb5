/** Whatever a tool gives back, as a `ToolResult`. */
import type { ToolResult } from "./tool.ts";

const resultKeys = new Set(["output", "images", "note", "stopReason"]);

/**
 * A string is the output; `{ output, images?, note?, stopReason? }` is taken as it is; nothing is an empty output; any
 * other value becomes its JSON text.
 * @throws TypeError when the value has no JSON text.
 */
export function readToolResult(value: unknown): ToolResult {
  if (value === undefined) return { output: "" };
  if (typeof value === "string") return { output: value };
  if (isToolResult(value)) return value;
  return { output: jsonText(value) };
}

/** A delta of a streaming tool. @throws TypeError when it has no JSON text. */
export function readDelta(value: unknown): string {
  return typeof value === "string" ? value : value === undefined ? "" : jsonText(value);
}

function isToolResult(value: unknown): value is ToolResult {
  if (typeof value !== "object" || value === null || !("output" in value)) return false;
  return typeof value.output === "string" && Object.keys(value).every((key) => resultKeys.has(key));
}

function jsonText(value: unknown): string {
  const text: unknown = JSON.stringify(value, undefined, 2);
  if (typeof text !== "string") throw new TypeError(`The tool returned a ${typeof value}, which has no JSON text.`);
  return text;
}
