/** Several schemas of which one must fit, as one. */
import { isRecord, type JsonRecord } from "../../shared/json.ts";

/** @param schemas Mended, and at least one. */
export function unionOf(schemas: readonly JsonRecord[]): JsonRecord {
  const members = new Map<string, JsonRecord>();
  const texts = new Set<unknown>();
  for (const schema of schemas.flatMap(membersOf)) {
    const listed = listedTexts(schema);
    if (listed === undefined) members.set(JSON.stringify(schema), schema);
    else for (const text of listed) texts.add(text);
  }
  const all = [...(texts.size > 0 ? [{ type: "string", enum: [...texts] }] : []), ...members.values()];
  const [first, second] = all;
  return first !== undefined && second === undefined ? first : { anyOf: all };
}

/** One provider wants nothing beside `anyOf`, and no `anyOf` as a member is needed. */
function membersOf(schema: JsonRecord): JsonRecord[] {
  const { anyOf, ...others } = schema;
  return Array.isArray(anyOf) && Object.keys(others).length === 0 ? anyOf.filter(isRecord) : [schema];
}

/** Of a schema that is no more than a list of texts. */
function listedTexts(schema: JsonRecord): readonly unknown[] | undefined {
  const { type, enum: listed, ...others } = schema;
  const isList = type === "string" && Array.isArray(listed) && Object.keys(others).length === 0;
  return isList ? listed : undefined;
}
