/** What providers refuse in the declaration of a tool, written strictly. Walks schemas only, not values in them. */
import { isRecord } from "../../../src/shared/json.ts";

export interface WireTool {
  name: unknown;
  parameters: unknown;
}

const fittingName = /^[A-Za-z0-9_-]{1,64}$/;
const noneAtTheTop = ["anyOf", "oneOf", "allOf", "not", "enum", "const"];
const typeNames = ["string", "number", "integer", "boolean", "object", "array", "null"];

/** @param isGemini Also refuse what Gemini does; it needs no parameters where there are none. */
export function refusals(tools: readonly WireTool[], isGemini = false): string[] {
  const names = tools.map(({ name }) => name);
  const problems = new Set(names).size < names.length ? ["names are not unique"] : [];
  for (const { name, parameters } of tools) {
    const told = (words: string) => problems.push(`${String(name)}: ${words}`);
    if (typeof name !== "string" || !fittingName.test(name)) told("bad name");
    if (isGemini && (typeof name !== "string" || !/^[A-Za-z_]/.test(name))) told("name begins badly");
    if (isGemini && parameters === undefined) continue;
    if (!isRecord(parameters) || parameters["type"] !== "object") {
      told("top level is no object");
      continue;
    }
    if (!isGemini && !isRecord(parameters["properties"])) told("no properties at the top");
    for (const key of noneAtTheTop) if (Object.hasOwn(parameters, key)) told(`${key} at the top`);
    checkSchema(parameters, isGemini, told);
  }
  return problems;
}

function checkSchema(schema: unknown, isGemini: boolean, told: (words: string) => void): void {
  if (!isRecord(schema)) return told(`no schema: ${JSON.stringify(schema)}`);
  const { type, properties, required, items, anyOf } = schema;
  const types = Array.isArray(type) ? type : [type];
  if (type === undefined && anyOf === undefined) told("neither a type nor alternatives");
  if (type !== undefined && types.some((name) => !typeNames.includes(name))) told(`type ${JSON.stringify(type)}`);
  if (types.includes("array") && !isRecord(items)) told("array without items");
  if (items !== undefined && !types.includes("array")) told("items without an array");
  if (properties !== undefined && !types.includes("object")) told("properties without an object");
  for (const name of Array.isArray(required) ? required : []) {
    if (!isRecord(properties) || !Object.hasOwn(properties, name)) told(`required ${String(name)} is no property`);
  }
  for (const key of ["$schema", "$id", "$ref", "$defs", "definitions"]) if (Object.hasOwn(schema, key)) told(key);
  if (isGemini) checkGemini(schema, types, told);
  for (const inner of isRecord(properties) ? Object.values(properties) : []) checkSchema(inner, isGemini, told);
  if (items !== undefined) checkSchema(items, isGemini, told);
  for (const key of ["anyOf", "oneOf", "allOf"]) {
    const list = schema[key];
    if (list !== undefined && (!Array.isArray(list) || list.length === 0)) told(`${key} is no list`);
    for (const inner of Array.isArray(list) ? list : []) checkSchema(inner, isGemini, told);
  }
}

function checkGemini(schema: Record<string, unknown>, types: readonly unknown[], told: (words: string) => void): void {
  for (const key of ["additionalProperties", "patternProperties", "oneOf", "allOf", "const", "not"]) {
    if (Object.hasOwn(schema, key)) told(key);
  }
  const { format, anyOf, type } = schema;
  const listed = schema["enum"];
  if (anyOf !== undefined && type !== undefined) told("a type beside alternatives");
  if (format !== undefined && format !== "date-time") told(`format ${JSON.stringify(format)}`);
  if (listed === undefined) return;
  const isText = types.includes("string") && Array.isArray(listed);
  if (!isText || !listed.every((value) => typeof value === "string" && value !== "")) told("enum of other than text");
}
