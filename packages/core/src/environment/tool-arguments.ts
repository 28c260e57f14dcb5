/** The arguments of a call as the model wrote them, and the words for what is wrong with them. */
import type { JSONSchema7 } from "@coxswain/protocol";
import { headOf, shortened } from "../shared/cut.ts";
import { wordsOf } from "../shared/error-words.ts";
import { isRecord } from "../shared/json.ts";
import { gateText } from "./text/text-gate.ts";
import type { Tool } from "./tool.ts";

type ParsedArguments = { ok: true; value: Record<string, unknown> } | { ok: false; message: string };

const quotedLength = 200;

/**
 * Empty arguments mean `{}`.
 *
 * @param secrets Masked in the message.
 */
export function parseArguments(text: string, secrets: readonly string[]): ParsedArguments {
  if (text.trim() === "") return { ok: true, value: {} };
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { ok: false, message: `The arguments are not valid JSON${reason(text, secrets)}. ${were(text, secrets)}` };
  }
  if (!isRecord(value)) {
    const kind = value === null ? "null" : Array.isArray(value) ? "an array" : `a ${typeof value}`;
    return { ok: false, message: `The arguments must be one JSON object, not ${kind}. ${were(text, secrets)}` };
  }
  return { ok: true, value };
}

/** What is wrong with the masked text: the words of the parser quote some characters of it. */
function reason(text: string, secrets: readonly string[]): string {
  try {
    JSON.parse(gateText(text, secrets));
    return "";
  } catch (error) {
    return `: ${wordsOf(error)}`;
  }
}

function were(text: string, secrets: readonly string[]): string {
  return `They were: ${shortened(gateText(text, secrets), quotedLength)}`;
}

export function unknownTool(name: string, tools: Iterable<string>, secrets: readonly string[]): string {
  const names = [...tools];
  const list = names.length === 0 ? "There are no tools." : `The tools are: ${names.join(", ")}.`;
  return `There is no tool named ${JSON.stringify(headOf(gateText(name, secrets), quotedLength))}. ${list}`;
}

/** What was wrong, and what would be right. */
export function badArguments(tool: Tool, message: string): string {
  const { name, parameters } = tool.definition;
  return `The call of ${name} was not run. ${message}\n${expected(name, parameters)}`;
}

function expected(name: string, schema: JSONSchema7): string {
  const properties = schema.properties;
  const entries = isRecord(properties) ? Object.entries(properties) : [];
  if (entries.length === 0) return `${name} takes no arguments: send {}.`;
  const required = new Set(Array.isArray(schema.required) ? schema.required : []);
  const fields = entries.map(([field, property]) => {
    const type: unknown = isRecord(property) ? property.type : undefined;
    const words = [typeof type === "string" ? type : "", required.has(field) ? "required" : "optional"];
    return `${field} (${words.filter((word) => word !== "").join(", ")})`;
  });
  return `Send one JSON object with: ${fields.join(", ")}.`;
}
