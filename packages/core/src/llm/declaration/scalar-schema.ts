/** Schemas of single values, with no more than every provider takes; what it cannot say becomes words. */
import { shortened } from "../../shared/cut.ts";
import type { JsonRecord } from "../../shared/json.ts";
import type { FlatSchema, TypeName } from "./flat-schema.ts";
import { jsonWords, joinedWords, listWords } from "./schema-words.ts";

export interface WordedSchema {
  schema: JsonRecord;
  /** For the description. */
  words: (string | undefined)[];
}

const longestWord = 500;
const longestText = 8 * 1_024;
const plainTypes = ["string", "number", "boolean", "object"] as const;

/** Any value. One provider refuses a schema that names no type. */
export function anything(): JsonRecord {
  const anyOf: JsonRecord[] = plainTypes.map((type) => ({ type }));
  return { anyOf: [...anyOf, anyArray()] };
}

function anyArray(): JsonRecord {
  return { type: "array", items: { anyOf: plainTypes.map((type) => ({ type })) } };
}

/** The schema of one type, without what it says of parts. */
export function scalarSchema(type: TypeName, flat: FlatSchema): WordedSchema {
  switch (type) {
    case "string":
      return stringSchema(flat.rest);
    case "number":
    case "integer":
      return numberSchema(type, flat.rest);
    case "array":
      return { schema: anyArray(), words: [] };
    case "boolean":
    case "object":
    case "null":
      return { schema: { type }, words: [] };
  }
}

/** What a schema that says no type is about, by its other keywords. */
export function impliedTypes({ properties, required, maps, items, tuple, rest }: FlatSchema): TypeName[] | undefined {
  if (properties.size > 0 || required.size > 0 || maps.size > 0) return ["object"];
  if (items !== undefined || tuple !== undefined) return ["array"];
  if (["pattern", "format", "minLength", "maxLength"].some((key) => rest[key] !== undefined)) return ["string"];
  if (["minimum", "maximum", "multipleOf"].some((key) => rest[key] !== undefined)) return ["number"];
  return undefined;
}

/** One schema for each type among the values. Only text is listed as such: one provider takes no other list. */
export function valueSchemas(values: readonly unknown[], types: readonly TypeName[] | undefined): WordedSchema[] {
  const fitting = values.filter((value) => types === undefined || types.some((type) => isOf(value, type)));
  const kept = fitting.length > 0 ? fitting : values;
  const texts = kept.filter((value) => typeof value === "string").map((text) => text.toWellFormed());
  const schemas: WordedSchema[] = texts.length > 0 ? [textSchema(texts)] : [];
  const numberType = kept.some((value) => isOf(value, "number") && !Number.isInteger(value)) ? "number" : "integer";
  for (const type of [numberType, "boolean", "object", "array"] as const) {
    const own = kept.filter((value) => isOf(value, type));
    if (own.length === 0) continue;
    const schema = type === "array" ? anyArray() : { type };
    schemas.push({ schema, words: [`One of: ${listWords([...new Set(own)])}.`] });
  }
  if (kept.includes(null)) schemas.push({ schema: { type: "null" }, words: [] });
  return schemas;
}

/** An empty text in the list makes one provider refuse it. */
function textSchema(texts: readonly string[]): WordedSchema {
  const listed = [...new Set(texts)].filter((text) => text !== "");
  if (listed.length === 0) return { schema: { type: "string" }, words: ["Always empty."] };
  return {
    schema: { type: "string", enum: listed },
    words: [listed.length < new Set(texts).size ? "May also be empty." : undefined],
  };
}

function isOf(value: unknown, type: TypeName): boolean {
  switch (type) {
    case "integer":
      return Number.isInteger(value);
    case "number":
      return typeof value === "number" && Number.isFinite(value);
    case "array":
      return Array.isArray(value);
    case "null":
      return value === null;
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
    default:
      return typeof value === type;
  }
}

function stringSchema(rest: JsonRecord): WordedSchema {
  const { format, pattern } = rest;
  const schema: JsonRecord = { type: "string", ...counts(rest, ["minLength", "maxLength"]) };
  const words: (string | undefined)[] = [];
  // One provider refuses every other format, another every pattern that its own language cannot read.
  if (format === "date-time") schema["format"] = format;
  else if (typeof format === "string" && format !== "") words.push(`Format: ${shortened(format, longestWord)}.`);
  if (typeof pattern === "string" && isCommonPattern(pattern)) schema["pattern"] = pattern;
  else if (typeof pattern === "string") words.push(`Must match ${shortened(pattern, longestWord)}`);
  return { schema, words };
}

function numberSchema(type: "number" | "integer", rest: JsonRecord): WordedSchema {
  const schema: JsonRecord = { type };
  for (const key of ["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"]) {
    const value = rest[key];
    if (typeof value === "number" && Number.isFinite(value) && !(key === "multipleOf" && value <= 0))
      schema[key] = value;
  }
  // The oldest drafts say with true that the limit itself is out.
  for (const [exclusive, limit] of [
    ["exclusiveMinimum", "minimum"],
    ["exclusiveMaximum", "maximum"],
  ] as const) {
    if (rest[exclusive] !== true || schema[limit] === undefined) continue;
    schema[exclusive] = schema[limit];
    delete schema[limit];
  }
  return { schema, words: [] };
}

export function counts(rest: JsonRecord, keys: readonly string[]): JsonRecord {
  const kept = keys.filter((key) => Number.isSafeInteger(rest[key]) && Number(rest[key]) >= 0);
  return Object.fromEntries(kept.map((key) => [key, rest[key]]));
}

const longestPattern = 300;

/** Whether every common language of patterns reads it, and alike. */
function isCommonPattern(pattern: string): boolean {
  if (pattern.length > longestPattern || !pattern.isWellFormed()) return false;
  const outside = /\(\?(?!:)|\\[1-9pPukcxX]|\[\^?\]|\[\^?[^\]]*\[|&&|~~|--|\{\d*,?\d{4,}\}/;
  if (outside.test(pattern)) return false;
  try {
    return new RegExp(pattern, "u").source !== "";
  } catch {
    return false;
  }
}

/** With its description, title and default value, as far as they are what they should be. */
export function annotated({ schema, words }: WordedSchema, { descriptions, rest }: FlatSchema): JsonRecord {
  const { title, examples, default: usual } = rest;
  const isPlain = typeof usual === "string" || typeof usual === "boolean" || Number.isFinite(usual);
  const { description: inner, ...others } = schema;
  const description = joinedWords([
    ...descriptions,
    typeof inner === "string" ? inner : undefined,
    ...words,
    Array.isArray(examples) && examples.length > 0 ? `Examples: ${listWords(examples)}.` : undefined,
    isPlain || usual === undefined || usual === null ? undefined : `Default: ${jsonWords(usual)}.`,
  ]);
  return {
    ...(typeof title === "string" && title !== "" && { title: cut(title) }),
    ...(description !== undefined && { description: cut(description) }),
    ...others,
    ...(isPlain && { default: typeof usual === "string" ? cut(usual) : usual }),
  };
}

function cut(text: string): string {
  return shortened(text, longestText).toWellFormed();
}
