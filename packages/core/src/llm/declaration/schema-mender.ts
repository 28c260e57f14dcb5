/** Makes schemas that every provider takes out of schemas of unknown origin. Bounded in depth and number. */
import { shortened } from "../../shared/cut.ts";
import { isRecord, type JsonRecord } from "../../shared/json.ts";
import type { FlatSchema, SchemaFlattener, TypeName } from "./flat-schema.ts";
import {
  annotated,
  anything,
  counts,
  impliedTypes,
  scalarSchema,
  valueSchemas,
  type WordedSchema,
} from "./scalar-schema.ts";
import { joinedWords, jsonWords } from "./schema-words.ts";
import { unionOf } from "./schema-union.ts";

/** What the tool's owner should know of. */
export type SchemaRemarks = Set<string>;

/** Where a schema stands: how deep, and in which raw ones. */
interface Place {
  level: number;
  above: ReadonlySet<object>;
}

/** An object with its alternatives merged. */
interface ObjectParts {
  properties: Map<string, JsonRecord>;
  required: Set<string>;
  words: (string | undefined)[];
}

/** As many as the least of them fill the largest declaration. */
const mostSchemas = 2_500;
const longestWays = 1_000;
const longestShownName = 80;
const forbiddenName = "__proto__";
const commonPropertyName = /^[A-Za-z0-9_.-]{1,64}$/;

export class SchemaMender {
  /** There were more schemas than anybody writes; the rest was not looked at. */
  isTooMuch = false;
  /** The level of what stands deepest. */
  deepest = 0;
  readonly #flattener: SchemaFlattener;
  readonly #levels: number;
  readonly #remarks: SchemaRemarks;
  #schemas = 0;

  constructor(flattener: SchemaFlattener, levels: number, remarks: SchemaRemarks) {
    this.#flattener = flattener;
    this.#levels = levels;
    this.#remarks = remarks;
  }

  /** The schema of a tool's arguments; `undefined` when they can be no object. */
  parameters(raw: JsonRecord): { schema: JsonRecord; words: string | undefined } | undefined {
    const flat = this.#flattener.flatten(raw, new Set());
    const parts = this.#objectParts(flat, { level: 1, above: flat.sources });
    if (parts === undefined) return undefined;
    this.#sayOddNames(parts);
    const schema = { type: "object", properties: {}, ...this.#objectSchema(parts, flat) };
    return { schema: annotated({ schema, words: [] }, flat), words: joinedWords(parts.words) };
  }

  /** `undefined`: nothing fits it. */
  #mend(raw: unknown, { level, above }: Place): JsonRecord | undefined {
    if (raw === false) return undefined;
    if (!this.#count() || !isRecord(raw)) return anything();
    this.deepest = Math.max(this.deepest, level);
    const flat = this.#flattener.flatten(raw, above);
    if (flat.isNever) return undefined;
    if (flat.isCyclic) return this.#outline(raw, "what is part of itself in its parameters is declared once");
    if (level > this.#levels && !isLeaf(flat))
      return this.#outline(raw, `its parameters are declared only ${this.#levels} levels deep`);
    const mended = this.#mendFlat(flat, { level: level + 1, above: new Set([...above, ...flat.sources]) });
    return mended && annotated(mended, flat);
  }

  #mendFlat(flat: FlatSchema, place: Place): WordedSchema | undefined {
    if (flat.values !== undefined && this.#count(flat.values.length)) {
      const schemas = valueSchemas(flat.values, flat.types);
      if (schemas.length > 0) return { schema: unionOf(schemas.map(worded)), words: [] };
    }
    if (flat.alternatives.length > 0 && !isObject(flat)) return this.#alternatives(flat, place);
    const types = flat.types ?? impliedTypes(flat);
    if (types === undefined) return { schema: anything(), words: [] };
    const ofTypes = types.map((type) => this.#ofType(type, flat, place)).filter((schema) => schema !== undefined);
    const [first, second] = ofTypes;
    if (first === undefined) return undefined;
    if (second === undefined) return first;
    if (ofTypes.length === 2 && second.schema["type"] === "null") {
      return { schema: { ...first.schema, type: [first.schema["type"], "null"] }, words: first.words };
    }
    return { schema: unionOf(ofTypes.map(worded)), words: [] };
  }

  #ofType(type: TypeName, flat: FlatSchema, place: Place): WordedSchema | undefined {
    if (type === "array") return this.#array(flat, place);
    if (type !== "object") return scalarSchema(type, flat);
    const parts = this.#objectParts(flat, place);
    return parts && { schema: this.#objectSchema(parts, flat), words: parts.words };
  }

  #array(flat: FlatSchema, place: Place): WordedSchema {
    const { items, tuple, rest } = flat;
    const inOrder = (tuple ?? []).map((item) => this.#mend(item, place) ?? anything());
    const others = items === undefined ? undefined : this.#mend(items, place);
    const all = [...inOrder, ...(others === undefined ? [] : [others])];
    const schema: JsonRecord = {
      ...scalarSchema("array", flat).schema,
      ...(all.length > 0 && { items: unionOf(all) }),
      ...counts(rest, ["minItems", "maxItems"]),
      ...(rest["uniqueItems"] === true && { uniqueItems: true }),
    };
    return { schema, words: [inOrder.length > 1 ? `In this order: ${jsonWords(inOrder)}.` : undefined] };
  }

  /** What alternatives of something that is no object have in common belongs to each: one provider wants it nowhere else. */
  #alternatives(flat: FlatSchema, place: Place): WordedSchema | undefined {
    const [list = [], ...others] = flat.alternatives;
    if (others.length > 0)
      this.#remarks.add("only the first of several lists of alternatives in its parameters is declared");
    const { title: _title, default: _default, examples: _examples, ...rest } = flat.rest;
    const common = { ...rest, type: flat.types, items: flat.tuple ?? flat.items };
    const schemas = list
      .map((raw) => this.#mend(isRecord(raw) ? { allOf: [raw, common] } : raw, place))
      .filter((schema) => schema !== undefined);
    return schemas.length === 0 ? undefined : { schema: unionOf(schemas), words: [] };
  }

  /** `undefined` when it can be no object. */
  #objectParts(flat: FlatSchema, place: Place): ObjectParts | undefined {
    if (flat.isNever || flat.types?.includes("object") === false) return undefined;
    const parts: ObjectParts = { properties: new Map(), required: new Set(flat.required), words: [] };
    for (const [name, raw] of flat.properties) {
      if (this.isTooMuch) break;
      const schema = this.#mend(raw, place);
      if (schema === undefined) parts.required.delete(name);
      else parts.properties.set(name, schema);
    }
    for (const [pattern, raw] of flat.maps) {
      if (this.isTooMuch) break;
      const names = pattern === "" ? "Takes any further names" : `Takes names that match ${jsonWords(pattern)}`;
      parts.words.push(`${names}, each with a value of this schema: ${jsonWords(this.#mend(raw, place) ?? {})}.`);
    }
    const isSaid = flat.types !== undefined || flat.properties.size > 0;
    for (const list of flat.alternatives) {
      const branches = list.map((raw) => this.#branch(raw, place)).filter((branch) => branch !== undefined);
      if (branches.length === 0 && !isSaid) return undefined;
      this.#mergeBranches(parts, branches);
    }
    return parts;
  }

  #branch(raw: unknown, { level, above }: Place): ObjectParts | undefined {
    if (raw === false || level > this.#levels || !this.#count()) return undefined;
    const flat = this.#flattener.flatten(raw, above);
    const parts = this.#objectParts(flat, { level: level + 1, above: new Set([...above, ...flat.sources]) });
    parts?.words.unshift(...flat.descriptions);
    return parts;
  }

  /** Everything that one of them takes, and of what they require only what all do. */
  #mergeBranches(parts: ObjectParts, branches: readonly ObjectParts[]): void {
    const [first, ...others] = branches;
    if (first === undefined) return;
    if (others.length > 0) this.#remarks.add("alternatives in its parameters are merged into one object");
    for (const name of new Set(branches.flatMap(({ properties }) => [...properties.keys()]))) {
      const schemas = branches.map(({ properties }) => properties.get(name)).filter((schema) => schema !== undefined);
      if (!parts.properties.has(name)) parts.properties.set(name, unionOf(schemas));
    }
    for (const name of first.required) {
      if (others.every(({ required }) => required.has(name))) parts.required.add(name);
    }
    const sets = branches.map(({ required }) => [...required].filter((name) => !parts.required.has(name)));
    const ways = [...new Set(sets.map((names) => (names.length === 0 ? "none of these" : names.join(" with "))))];
    if (ways.length > 1) parts.words.push(`Needs one of: ${shortened(ways.join("; "), longestWays)}.`);
    parts.words.push(...branches.flatMap(({ words }) => words));
  }

  #objectSchema({ properties, required }: ObjectParts, { rest }: FlatSchema): JsonRecord {
    // Secure parsers of JSON refuse a call that has it, and who copies by assignment loses it.
    if (properties.delete(forbiddenName)) this.#remarks.add(`a property named ${forbiddenName} is not declared`);
    required.delete(forbiddenName);
    // It must be sent, so it is declared, although nothing is known of it.
    for (const name of required) if (!properties.has(name) && this.#count()) properties.set(name, anything());
    return {
      type: "object",
      ...(properties.size > 0 && { properties: Object.fromEntries(properties) }),
      ...(required.size > 0 && { required: [...required] }),
      ...counts(rest, ["minProperties", "maxProperties"]),
    };
  }

  /** One provider refuses such names at the top; the model can use them all the same. */
  #sayOddNames({ properties, required, words }: ObjectParts): void {
    for (const name of new Set([...properties.keys(), ...required])) {
      if (commonPropertyName.test(name)) continue;
      const shown = jsonWords(shortened(name, longestShownName));
      this.#remarks.add(`property ${shown} is declared in words, since its name is not taken by every provider`);
      const need = required.has(name) ? "needs" : "takes";
      words.push(`Also ${need} ${jsonWords(name)}, of this schema: ${jsonWords(properties.get(name) ?? {})}.`);
      properties.delete(name);
      required.delete(name);
    }
  }

  /** What a schema is about, without its parts. */
  #outline(raw: JsonRecord, reason: string): JsonRecord {
    this.#remarks.add(reason);
    const flat = this.#flattener.flatten(raw, new Set());
    const [type, ...others] = flat.types ?? impliedTypes(flat) ?? [];
    const isOne = type !== undefined && others.length === 0 && flat.alternatives.length === 0;
    return annotated(isOne ? scalarSchema(type, flat) : { schema: anything(), words: [] }, { ...flat, rest: {} });
  }

  #count(more = 1): boolean {
    this.#schemas += more;
    if (this.#schemas > mostSchemas) this.isTooMuch = true;
    return !this.isTooMuch;
  }
}

function isObject({ types, properties, required, maps }: FlatSchema): boolean {
  if (properties.size > 0 || required.size > 0 || maps.size > 0) return true;
  return types?.includes("object") === true && types.every((type) => type === "object" || type === "null");
}

function isLeaf({ types, values, alternatives }: FlatSchema): boolean {
  if (values !== undefined) return true;
  return alternatives.length === 0 && types?.every((type) => type !== "object" && type !== "array") === true;
}

function worded({ schema, words }: WordedSchema): JsonRecord {
  const description = joinedWords(words);
  return description === undefined ? schema : { description, ...schema };
}
