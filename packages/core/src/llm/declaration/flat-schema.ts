/** A JSON Schema of unknown origin as one flat node: its references followed, what all must hold joined. */
import { isRecord, type JsonRecord } from "../../shared/json.ts";

const typeNames = ["string", "number", "integer", "boolean", "object", "array", "null"] as const;

export type TypeName = (typeof typeNames)[number];

export interface FlatSchema {
  /** Absent: not said. */
  types: TypeName[] | undefined;
  /** Raw schemas. */
  properties: Map<string, unknown>;
  required: Set<string>;
  /** Values that are allowed, of `enum` and `const`. */
  values: unknown[] | undefined;
  /** Raw alternatives, one list for each `anyOf` and `oneOf`. */
  alternatives: (readonly unknown[])[];
  /** Raw schema of all items. */
  items: unknown;
  /** Raw schemas of single items, by position. */
  tuple: readonly unknown[] | undefined;
  /** Raw schemas of properties that have no name of their own, by the pattern of their names; "" is any. */
  maps: Map<string, unknown>;
  /** The other keywords that are of use, each as it was first met. */
  rest: JsonRecord;
  descriptions: string[];
  /** Nothing can fit it. */
  isNever: boolean;
  /** It is part of itself. */
  isCyclic: boolean;
  /** The raw schemas that it was made of. */
  sources: Set<object>;
}

const mostParts = 100;
/** More than any provider takes. */
const mostMembers = 10_000;
const keptKeywords = (
  "title default examples format pattern minLength maxLength minItems maxItems uniqueItems " +
  "minProperties maxProperties minimum maximum exclusiveMinimum exclusiveMaximum multipleOf"
).split(" ");

export class SchemaFlattener {
  readonly #root: unknown;
  readonly #unresolved: (reference: string) => void;

  /** @param unresolved Told of each reference that leads nowhere. */
  constructor(root: unknown, unresolved: (reference: string) => void) {
    this.#root = root;
    this.#unresolved = unresolved;
  }

  /** @param above The raw schemas that this one is part of. */
  flatten(schema: unknown, above: ReadonlySet<object>): FlatSchema {
    const flat = emptySchema();
    const pending: unknown[] = [schema];
    while (pending.length > 0 && flat.sources.size < mostParts) {
      const part = pending.pop();
      if (part === false) flat.isNever = true;
      if (!isRecord(part) || flat.sources.has(part)) continue;
      if (above.has(part)) {
        flat.isCyclic = true;
        continue;
      }
      flat.sources.add(part);
      join(flat, part);
      const { allOf } = part;
      if (Array.isArray(allOf)) pending.push(...allOf.slice(0, mostParts).reverse());
      const reference = part["$ref"] ?? part["$dynamicRef"] ?? part["$recursiveRef"];
      if (typeof reference === "string") pending.push(this.#target(reference));
    }
    return flat;
  }

  #target(reference: string): unknown {
    const target = reference.startsWith("#") ? followPointer(this.#root, reference.slice(1)) : undefined;
    if (target === undefined) this.#unresolved(reference);
    return target;
  }
}

function emptySchema(): FlatSchema {
  return {
    types: undefined,
    properties: new Map(),
    required: new Set(),
    values: undefined,
    alternatives: [],
    items: undefined,
    tuple: undefined,
    maps: new Map(),
    rest: {},
    descriptions: [],
    isNever: false,
    isCyclic: false,
    sources: new Set(),
  };
}

function join(flat: FlatSchema, part: JsonRecord): void {
  joinTypes(flat, part);
  const { properties, required, description, items, prefixItems } = part;
  if (isRecord(properties)) {
    for (const name of Object.keys(properties).slice(0, mostMembers))
      flat.properties.set(name, both(flat.properties.get(name), properties[name]));
  }
  if (Array.isArray(required)) {
    for (const name of required.slice(0, mostMembers)) if (typeof name === "string") flat.required.add(name);
  }
  if (typeof description === "string") flat.descriptions.push(description);
  if (Array.isArray(part["enum"])) joinValues(flat, part["enum"]);
  if (Object.hasOwn(part, "const") && part["const"] !== undefined) joinValues(flat, [part["const"]]);
  for (const list of [part["anyOf"], part["oneOf"]]) {
    if (Array.isArray(list) && list.length > 0) flat.alternatives.push(list.slice(0, mostMembers));
  }
  // The newest drafts have another name for it.
  const tuple = Array.isArray(items) ? items : prefixItems;
  if (Array.isArray(tuple)) flat.tuple ??= tuple;
  else if (items !== undefined) flat.items = both(flat.items, items);
  joinMaps(flat, part);
  for (const key of keptKeywords) flat.rest[key] ??= part[key];
}

function joinTypes(flat: FlatSchema, { type, nullable }: JsonRecord): void {
  const given: readonly unknown[] = Array.isArray(type) ? type : [type];
  const types = typeNames.filter((name) => given.includes(name));
  if (types.length === 0) return;
  if (nullable === true && !types.includes("null")) types.push("null");
  const shared = types.filter((name) => flat.types?.includes(name) === true);
  const narrowed = types.includes("integer") && flat.types?.includes("number") === true;
  if (narrowed && !shared.includes("integer")) shared.push("integer");
  if (flat.types === undefined) flat.types = types;
  else if (shared.length > 0) flat.types = shared;
}

function joinValues(flat: FlatSchema, values: readonly unknown[]): void {
  const also = new Set(values);
  const shared = flat.values?.filter((value) => also.has(value)) ?? [];
  flat.values = shared.length > 0 ? shared : (flat.values ?? [...values]);
}

function joinMaps(flat: FlatSchema, { additionalProperties, patternProperties }: JsonRecord): void {
  if (isRecord(additionalProperties) && !flat.maps.has("")) flat.maps.set("", additionalProperties);
  if (!isRecord(patternProperties)) return;
  for (const pattern of Object.keys(patternProperties)) {
    if (isRecord(patternProperties[pattern])) flat.maps.set(pattern, patternProperties[pattern]);
  }
}

function both(one: unknown, other: unknown): unknown {
  return one === undefined || one === other ? other : { allOf: [one, other] };
}

/** What a JSON pointer, written as the fragment of an address, points at. */
function followPointer(root: unknown, fragment: string): unknown {
  if (fragment === "") return root;
  if (!fragment.startsWith("/")) return undefined;
  let value: unknown = root;
  for (const step of fragment.slice(1).split("/")) {
    const key = decoded(step).replaceAll("~1", "/").replaceAll("~0", "~");
    if (typeof value !== "object" || value === null || !Object.hasOwn(value, key)) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

function decoded(step: string): string {
  try {
    return decodeURIComponent(step);
  } catch {
    return step;
  }
}
