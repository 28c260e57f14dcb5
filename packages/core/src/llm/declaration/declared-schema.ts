/**
 * A tool's parameters as every provider takes them. One declaration serves all: whatever one of them refuses is said in
 * another way or, as words, in a description. What a model sends is still checked against the schema that was given.
 */
import type { JSONSchema7 } from "@coxswain/protocol";
import { shortened } from "../../shared/cut.ts";
import { isRecord } from "../../shared/json.ts";
import { deepWellFormed } from "../context/well-formed.ts";
import { SchemaFlattener } from "./flat-schema.ts";
import { SchemaMender, type SchemaRemarks } from "./schema-mender.ts";

export type DeclaredSchema =
  | {
      schema: JSONSchema7;
      /** For the tool's description: what the schema says of the whole and no provider's can. */
      words: string | undefined;
      remarks: string[];
    }
  | { refused: string };

const longestShownReference = 80;
const longestJson = 64 * 1_024;
/** Levels of nesting, tried in this order until the whole is small enough: references multiply what is deep. */
const levelsToTry = [10, 6, 4, 2, 1];

export function declaredSchema(parameters: unknown): DeclaredSchema {
  if (parameters === undefined || parameters === null || parameters === true) {
    return { schema: { type: "object", properties: {} }, words: undefined, remarks: [] };
  }
  if (!isRecord(parameters)) return { refused: `its parameters are ${kindOf(parameters)}, not a JSON Schema` };
  let deepest = Number.POSITIVE_INFINITY;
  for (const levels of levelsToTry) {
    if (levels >= deepest) continue;
    const remarks: SchemaRemarks = new Set();
    const flattener = new SchemaFlattener(parameters, (reference) => remarks.add(unresolved(reference)));
    const mender = new SchemaMender(flattener, levels, remarks);
    const mended = mender.parameters(parameters);
    if (mended === undefined) return { refused: "its parameters do not describe an object" };
    deepest = mender.deepest;
    if (mender.isTooMuch) continue;
    const schema = deepWellFormed(mended.schema) as JSONSchema7;
    if (Buffer.byteLength(JSON.stringify(schema)) > longestJson) continue;
    return { schema, words: mended.words, remarks: [...remarks] };
  }
  return { refused: `its parameters are more than ${longestJson / 1_024} KiB of JSON` };
}

function unresolved(reference: string): string {
  return `its reference ${JSON.stringify(shortened(reference, longestShownReference).toWellFormed())} cannot be followed`;
}

function kindOf(value: unknown): string {
  return Array.isArray(value) ? "a list" : `a ${typeof value}`;
}
